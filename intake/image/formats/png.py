"""PNG: its size, and the chunks that its pixels are made of. Pure."""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from headworks.intake.image.formats.plain_file import MOST_PARTS, Damaged, PlainFile

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER_BYTES = 13
_SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""Of one pixel, by colour type: grey, RGB, palette, grey and alpha, RGBA (PNG third edition, 11.2.1)."""
_TRANSPARENCY_BYTES = {0: range(2, 3), 2: range(6, 7), 3: range(1, 257)}
"""Lengths of tRNS by colour type (PNG third edition, 11.3.1.1)."""
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
"""Of Adam7: first column and row, steps to the next ones (PNG third edition, 8.1)."""
_DEFLATED_BYTES = 4096
"""Inflated at once, to be counted and dropped: 4 MB at the most, since deflate does not shrink beyond 1 to 1032."""


@dataclass(frozen=True, slots=True)
class _Chunk:
    kind: bytes
    body: memoryview
    is_intact: bool
    """The checksum is there and right."""
    is_cut: bool
    """The file ends within it."""

    @property
    def is_critical(self) -> bool:
        """The pixels cannot be known without it: its name begins with a capital (PNG third edition, 5.4)."""
        return self.kind[:1].isupper()


def read_size(data: bytes) -> tuple[int, int]:
    """Return width and height.

    Raises:
        Damaged: the file ends within its header, or begins with another chunk.
    """
    if data[12:16] != b"IHDR" or len(data) < 24:
        raise Damaged
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def strip(data: bytes) -> PlainFile:
    """Keep the critical chunks and a sound tRNS, and add IEND where only that is missing.

    Raises:
        Damaged: a critical chunk has a wrong checksum, or a row is missing.
    """
    kept, rows, exif, header = [SIGNATURE], [], b"", bytes(_HEADER_BYTES)
    for chunk in _chunks(data):
        if chunk.is_critical and not chunk.is_intact and not chunk.is_cut:
            raise Damaged
        if chunk.kind == b"IHDR" and len(chunk.body) == _HEADER_BYTES:
            header = bytes(chunk.body)
        if chunk.kind == b"IDAT":
            rows.append(chunk.body)
        elif chunk.is_intact and (chunk.is_critical or _is_transparency(chunk, header)):
            kept.append(_write(chunk.kind, chunk.body))
        elif chunk.is_intact and chunk.kind == b"eXIf":
            exif = bytes(chunk.body)
    pixels = b"".join(rows)
    if not _has_every_row(pixels, header):
        raise Damaged
    return PlainFile(b"".join([*kept, _write(b"IDAT", pixels), _write(b"IEND", b"")]), exif)


def _chunks(data: bytes) -> Iterator[_Chunk]:
    """Walk up to IEND, to the end of the bytes, or to what cannot be a chunk.

    Raises:
        Damaged: more chunks than anybody writes.
    """
    view, place = memoryview(data), len(SIGNATURE)
    for _ in range(MOST_PARTS):
        if place + 8 > len(data):
            return
        (length,) = struct.unpack_from(">I", data, place)
        kind = data[place + 4 : place + 8]
        if kind == b"IEND" or not kind.isalpha():
            return
        end = place + 8 + length
        checksum = data[end : end + 4]
        is_intact = checksum == zlib.crc32(view[place + 4 : end]).to_bytes(4, "big")
        yield _Chunk(kind, view[place + 8 : end], is_intact, len(checksum) < 4)
        place = end + 4
    raise Damaged


def _is_transparency(chunk: _Chunk, header: bytes) -> bool:
    return chunk.kind == b"tRNS" and len(chunk.body) in _TRANSPARENCY_BYTES.get(header[9], ())


def _has_every_row(pixels: bytes, header: bytes) -> bool:
    """Inflate and count. Pillow draws rows black that a stream with a proper end does not hold."""
    stream, missing = zlib.decompressobj(), _raw_bytes(header)
    for start in range(0, len(pixels), _DEFLATED_BYTES):
        if missing <= 0:
            break
        try:
            missing -= len(stream.decompress(pixels[start : start + _DEFLATED_BYTES]))
        except zlib.error:
            return False
    return missing <= 0


def _raw_bytes(header: bytes) -> int:
    """Return how long the pixels are once inflated: each row begins with the byte that names its filter."""
    width, height, depth, colour, _, _, is_interlaced = struct.unpack(">IIBBBBB", header)
    bits = depth * _SAMPLES.get(colour, 0)
    passes = _PASSES if is_interlaced else ((0, 0, 1, 1),)
    sides = [(-(-(width - left) // across), -(-(height - top) // down)) for left, top, across, down in passes]
    return sum(rows * (1 + -(-columns * bits // 8)) for columns, rows in sides if columns > 0 and rows > 0)


def _write(kind: bytes, body: bytes | memoryview) -> bytes:
    checksum = zlib.crc32(body, zlib.crc32(kind))
    return b"".join((struct.pack(">I", len(body)), kind, body, struct.pack(">I", checksum)))
