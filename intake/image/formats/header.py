"""What a picture file is and how large it claims to be, from its first bytes. Pure; nothing is decoded."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from headworks.intake.errors import BadMedia
from headworks.intake.image.formats import jpeg, png, webp
from headworks.intake.image.formats.plain_file import Damaged, PlainFile

HEAD_BYTES = 12
"""All three formats are told by their first 12 bytes: WebP's name ends there."""


class PictureFormat(StrEnum):
    """The formats that are read; the values are Pillow's names in lower case."""

    PNG = "png"
    JPEG = "jpeg"
    WEBP = "webp"


@dataclass(frozen=True, slots=True)
class PictureHeader:
    """What a file claims about its picture, which Exif may ask to be turned."""

    format: PictureFormat
    width: int
    height: int


class _Container(Protocol):
    """What the module of a format knows."""

    def read_size(self, data: bytes) -> tuple[int, int]: ...

    def strip(self, data: bytes) -> PlainFile: ...


_CONTAINERS: dict[PictureFormat, _Container] = {
    PictureFormat.PNG: png,
    PictureFormat.JPEG: jpeg,
    PictureFormat.WEBP: webp,
}


def tell_format(head: bytes, part: int) -> PictureFormat | None:
    """Return the format by its magic bytes; None while there are fewer than `HEAD_BYTES`.

    Raises:
        BadMedia: none of the three.
    """
    if len(head) < HEAD_BYTES:
        return None
    if head.startswith(png.SIGNATURE):
        return PictureFormat.PNG
    if head.startswith(b"\xff\xd8\xff"):
        return PictureFormat.JPEG
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return PictureFormat.WEBP
    raise BadMedia(f"image {part}: not a PNG, JPEG or WebP picture by its first bytes")


def read_header(data: bytes, part: int) -> PictureHeader:
    """Read format and size.

    Raises:
        BadMedia: another format, or the bytes end within the header.
    """
    if not data:
        raise BadMedia(f"image {part}: no bytes came")
    found = tell_format(data, part)
    if found is None:
        raise BadMedia(f"image {part}: {len(data)} bytes are too few for a picture")
    try:
        width, height = _CONTAINERS[found].read_size(data)
    except Damaged:
        raise BadMedia(f"image {part}: the {found.value.upper()} ends in its header or has a damaged one") from None
    if not width or not height:
        raise BadMedia(f"image {part}: the {found.value.upper()} header says {width} x {height} pixels")
    return PictureHeader(found, width, height)


def strip_metadata(kind: PictureFormat, data: bytes) -> PlainFile:
    """Keep what the pixels are made of.

    Raises:
        Damaged: that is cut short, or contradicts itself.
    """
    return _CONTAINERS[kind].strip(data)
