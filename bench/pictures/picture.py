"""Bring a drawn picture to the size and file of the test set."""

import io
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageChops


@dataclass(frozen=True, slots=True)
class PictureSettings:
    """How pictures are kept."""

    long_side: int = 320
    """Pixels; more than any small image-text model looks at."""
    least_short_side: int = 160
    """Pixels; a long strip such as a receipt is kept larger than `long_side`, or nothing on it could be read."""
    most_long_side: int = 480
    """Pixels, for such a strip."""
    webp_quality: int = 88
    webp_share: float = 0.6
    """WebP is lossy and is taken only where its file is at most this share of the palette PNG's."""


def shrink(picture: Image.Image, settings: PictureSettings) -> Image.Image:
    """Return RGB at the size of the settings, never enlarged."""
    long, short = max(picture.size), min(picture.size)
    scale = max(settings.long_side / long, min(settings.least_short_side / short, settings.most_long_side / long))
    if scale >= 1:
        return picture.convert("RGB")
    width, height = (max(1, round(side * scale)) for side in picture.size)
    return picture.convert("RGB").resize((width, height), Image.Resampling.LANCZOS)


def keep(picture: Image.Image, stem: Path, settings: PictureSettings | None = None) -> Path:
    """Write `stem` with the ending of the format chosen; return the file."""
    chosen = settings or PictureSettings()
    small = shrink(picture, chosen)
    png = _encoded(small.quantize(256, dither=Image.Dither.NONE), "PNG", optimize=True)
    webp = _encoded(small, "WEBP", quality=chosen.webp_quality, method=6)
    is_webp = len(webp) <= chosen.webp_share * len(png)
    path = stem.with_suffix(".webp" if is_webp else ".png")
    path.write_bytes(webp if is_webp else png)
    return path


def cut_out(picture: Image.Image, ground: str) -> Image.Image:
    """Return the box that holds everything of another colour than `ground`."""
    rgb = picture.convert("RGB")
    return rgb.crop(ImageChops.difference(rgb, Image.new("RGB", rgb.size, ground)).getbbox())


def _encoded(picture: Image.Image, form: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, form, **options)
    return buffer.getvalue()
