"""WebP: its size, and the chunks that its pixels are made of. Pure. Chunks are those of RFC 9649."""

import struct
from collections.abc import Iterator

from headworks.intake.image.formats.plain_file import MOST_PARTS, Damaged, PlainFile

_FIRST_CHUNK = 12
_SIMPLE = (b"VP8 ", b"VP8L")
"""A file of one chunk."""
_EXTENDED = b"VP8X"
_FOR_PIXELS = frozenset({_EXTENDED, *_SIMPLE, b"ALPH", b"ANIM", b"ANMF"})
_METADATA_FLAGS = 0x20 | 0x08 | 0x04
"""In the first byte of VP8X: a colour profile, Exif and XMP follow (RFC 9649, 2.7.1)."""


def read_size(data: bytes) -> tuple[int, int]:
    """Return width and height.

    Raises:
        Damaged: the file ends within its header, or begins with another chunk.
    """
    try:
        match data[_FIRST_CHUNK : _FIRST_CHUNK + 4]:
            case b"VP8X":
                wide, wide_high, tall, tall_high = struct.unpack_from("<HBHB", data, 24)
                return (wide_high << 16 | wide) + 1, (tall_high << 16 | tall) + 1
            case b"VP8 ":
                width, height = struct.unpack_from("<HH", data, 26)
                return width & 0x3FFF, height & 0x3FFF
            case b"VP8L":
                (bits,) = struct.unpack_from("<I", data, 21)
                return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    except struct.error:
        raise Damaged from None
    raise Damaged


def strip(data: bytes) -> PlainFile:
    """Keep the chunks of pixels, whatever the file says of its own length.

    Raises:
        Damaged: the file ends within a chunk of pixels.
    """
    kept, exif = [], b""
    for kind, body, is_cut in _chunks(data):
        if kind in _FOR_PIXELS:
            if is_cut:
                raise Damaged
            kept.append(_write(kind, bytes((body[0] & ~_METADATA_FLAGS, *body[1:])) if kind == _EXTENDED else body))
            if kind in _SIMPLE and len(kept) == 1:
                break
        elif kind == b"EXIF" and not is_cut:
            exif = body.removeprefix(b"Exif\0\0")
    return PlainFile(_write(b"RIFF", b"WEBP" + b"".join(kept)), exif)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes, bool]]:
    """Yield name, body, and whether the file ends within it; up to the end of the bytes or to what cannot be a name.

    Raises:
        Damaged: more chunks than anybody writes.
    """
    place = _FIRST_CHUNK
    for _ in range(MOST_PARTS):
        if place + 8 > len(data) or not data[place : place + 4].isascii():
            return
        kind, length = struct.unpack_from("<4sI", data, place)
        body = data[place + 8 : place + 8 + length]
        yield kind, body, len(body) < length
        place += 8 + length + length % 2
    raise Damaged


def _write(kind: bytes, body: bytes) -> bytes:
    return b"".join((kind, struct.pack("<I", len(body)), body, b"\0" * (len(body) % 2)))
