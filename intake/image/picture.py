"""Bytes to pixels, sized from the header first. Blocking: use a `WorkPool`."""

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.image.header import PictureFormat, PictureHeader, read_header
from headworks.intake.image.settings import ImageSettings

Pixels = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Picture:
    """A decoded picture, turned as a person sees it; the first frame of a moving one."""

    format: PictureFormat
    pixels: Pixels
    """RGB, shape (height, width, 3); what is transparent lies on white."""

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
        TooLarge: more pixels than `max_pixels`, by its header.
        BadMedia: another format, truncated or damaged.
    """
    header = read_header(data, part)
    if header.width * header.height > settings.max_pixels:
        raise TooLarge("intake.image.max_pixels", settings.max_pixels, header.width * header.height)
    name = header.format.value.upper()
    try:
        with Image.open(io.BytesIO(data), formats=(name,)) as image:
            _check_size(image, header)
            image.load()
            pixels = _to_rgb(ImageOps.exif_transpose(image))
    except Exception as error:
        # Pillow raises OSError, SyntaxError, ValueError, struct.error and more for bad bytes.
        raise BadMedia(f"image {part}: the {name} is cut short or damaged after its header") from error
    return Picture(header.format, pixels)


def _check_size(image: Image.Image, header: PictureHeader) -> None:
    if image.size != (header.width, header.height):
        raise ValueError("two sizes")


def _to_rgb(image: Image.Image) -> Pixels:
    if image.mode.startswith("I;16") or image.mode == "I":
        # Pillow clips 16-bit grey to 255 where it should scale.
        deep: NDArray[Any] = np.asarray(image).astype(np.uint32)
        image = Image.fromarray((deep >> 8).astype(np.uint8))
    if "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        paper = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(paper, image)
    return np.asarray(image.convert("RGB"), dtype=np.uint8)
