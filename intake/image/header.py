"""How large a picture claims to be, from its first bytes. Pure; nothing is decoded."""

import struct
from dataclasses import dataclass
from enum import StrEnum

from headworks.intake.errors import BadMedia

_JPEG_SIZES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""Start-of-frame markers; the three left out are tables and a reserved one (ITU-T T.81, table B.1)."""


class PictureFormat(StrEnum):
    """What pictures are read; also Pillow's format names in lower case."""

    PNG = "png"
    JPEG = "jpeg"
    WEBP = "webp"


@dataclass(frozen=True, slots=True)
class PictureHeader:
    """Before EXIF rotation."""

    format: PictureFormat
    width: int
    height: int


class _Short(Exception):
    """The bytes end within the header."""


def tell_format(head: bytes, part: int) -> PictureFormat | None:
    """The format by its magic bytes; None while fewer than 12 bytes are there.

    Raises:
        BadMedia: none of the three.
    """
    if len(head) < 12:
        return None
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
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
        width, height = {"png": _png, "jpeg": _jpeg, "webp": _webp}[found.value](data)
    except (_Short, struct.error):
        raise BadMedia(f"image {part}: the {found.value.upper()} ends in its header or has a damaged one") from None
    if not width or not height:
        raise BadMedia(f"image {part}: the {found.value.upper()} header says {width} x {height} pixels")
    return PictureHeader(found, width, height)


def _png(data: bytes) -> tuple[int, int]:
    if data[12:16] != b"IHDR":
        raise _Short
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def _jpeg(data: bytes) -> tuple[int, int]:
    """Walk the segments up to the first frame."""
    place = 2
    while place + 4 <= len(data):
        if data[place] != 0xFF:
            raise _Short
        marker = data[place + 1]
        if marker == 0xFF or marker == 0x01 or 0xD0 <= marker <= 0xD8:
            place += 1 if marker == 0xFF else 2
            continue
        if marker in _JPEG_SIZES:
            height, width = struct.unpack_from(">HH", data, place + 5)
            return width, height
        place += 2 + struct.unpack_from(">H", data, place + 2)[0]
    raise _Short


def _webp(data: bytes) -> tuple[int, int]:
    kind = data[12:16]
    if kind == b"VP8X":
        width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
        if len(data) < 30:
            raise _Short
        return width, height
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    raise _Short
