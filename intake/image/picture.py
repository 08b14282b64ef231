"""Bytes to pixels, sized from the header first. Blocking: use a `WorkPool`."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.image.formats.exif import read_orientation
from headworks.intake.image.formats.header import PictureFormat, PictureHeader, read_header, strip_metadata
from headworks.intake.image.formats.plain_file import Damaged, PlainFile
from headworks.intake.image.ground import choose_ground, lay
from headworks.intake.image.settings import ImageSettings

Pixels = NDArray[np.uint8]
_BAND_PIXELS = 1 << 20
"""Pixels that are converted at once. A conversion makes up to three copies of its pixels, so a picture is converted in
bands: the copies of one band are 12 MB, those of a picture of 40 million pixels would be 480 MB."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A decoded picture, turned as a person sees it; the first frame of a moving one."""

    format: PictureFormat
    pixels: Pixels
    """RGB, shape (height, width, 3). What is transparent lies on the ground that `choose_ground` finds."""

    @property
    def width(self) -> int:
        """Pixels, after EXIF rotation."""
        return int(self.pixels.shape[1])

    @property
    def height(self) -> int:
        """Pixels, after EXIF rotation."""
        return int(self.pixels.shape[0])


def decode(data: bytes, part: int, settings: ImageSettings) -> Picture:
    """Decode a whole picture.

    Raises:
        TooLarge: more pixels, a longer side or more scans than the settings allow; nothing was decoded.
        BadMedia: another format, or pixels that are truncated or damaged.
    """
    header = read_header(data, part)
    _check_size(header, settings)
    with _damage_of(header, part):
        plain = strip_metadata(header.format, data)
    if plain.passes > settings.max_scans:
        raise TooLarge("intake.image.max_scans", settings.max_scans, plain.passes)
    with _damage_of(header, part):
        pixels = _read_whole(plain, header)
    return Picture(header.format, _turn(pixels, read_orientation(plain.exif)))


@contextmanager
def _damage_of(header: PictureHeader, part: int) -> Iterator[None]:
    """Turn what a decoder says of bad bytes into a sentence for the sender."""
    try:
        yield
    except Exception as error:
        # Pillow raises OSError, SyntaxError, ValueError, struct.error and more.
        name = header.format.value.upper()
        raise BadMedia(f"image {part}: the {name} is cut short or damaged after its header") from error


def _check_size(header: PictureHeader, settings: ImageSettings) -> None:
    side, pixels = max(header.width, header.height), header.width * header.height
    if pixels > settings.max_pixels:
        raise TooLarge("intake.image.max_pixels", settings.max_pixels, pixels)
    if side > settings.max_side:
        raise TooLarge("intake.image.max_side", settings.max_side, side)


def _read_whole(plain: PlainFile, header: PictureHeader) -> Pixels:
    pixels = _read_pixels(plain.data, header)
    if any(not np.array_equal(pixels, _read_pixels(twin, header)) for twin in plain.twins):
        raise Damaged
    return pixels


def _read_pixels(data: bytes, header: PictureHeader) -> Pixels:
    with Image.open(io.BytesIO(data), formats=(header.format.value.upper(),)) as image:
        if image.size != (header.width, header.height):
            raise Damaged
        image.load()
        return _to_rgb(image)


def _to_rgb(image: Image.Image) -> Pixels:
    pixels = np.empty((image.height, image.width, 3), np.uint8)
    is_clear = "A" in image.getbands() or "transparency" in image.info
    ground = choose_ground(_rgba(band) for _, band in _bands(image)) if is_clear else 0
    for top, band in _bands(image):
        rgb = lay(_rgba(band), ground) if is_clear else np.asarray(_eight_bits(band).convert("RGB"))
        pixels[top : top + band.height] = rgb
    return pixels


def _bands(image: Image.Image) -> Iterator[tuple[int, Image.Image]]:
    """Cut a picture into rows that are converted together; yields the first row's number with each."""
    rows = max(1, _BAND_PIXELS // image.width)
    for top in range(0, image.height, rows):
        yield top, image.crop((0, top, image.width, min(top + rows, image.height)))


def _rgba(band: Image.Image) -> Pixels:
    """Read a band with its transparency, shape (rows, width, 4)."""
    if not _is_deep(band):
        return np.asarray(band.convert("RGBA"))
    values = np.asarray(band)
    grey = np.asarray(_eight_bits(band))
    return np.dstack((grey, grey, grey, np.where(values == band.info["transparency"], 0, 255).astype(np.uint8)))


def _eight_bits(band: Image.Image) -> Image.Image:
    """Scale 16-bit grey, which Pillow would clip to 255."""
    if not _is_deep(band):
        return band
    values: NDArray[Any] = np.asarray(band).astype(np.uint32)
    return Image.fromarray((values >> 8).astype(np.uint8))


def _is_deep(band: Image.Image) -> bool:
    return band.mode.startswith("I;16") or band.mode == "I"


def _turn(pixels: Pixels, orientation: int) -> Pixels:
    """Turn a picture as its camera was held; a view, not a copy. The eight cases are those of TIFF 6.0, Orientation."""
    if orientation > 4:
        pixels = pixels.swapaxes(0, 1)
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    return pixels
