"""The samples of a WAV file: where they begin, and whether as many are there as the header names.

libsndfile reads a cut WAV as a shorter one, and spends microseconds on each chunk before the samples. So the chunks
are walked here, and the decoder is given the format and the samples alone.

Source: RIFF (Multimedia Programming Interface and Data Specifications 1.0); RF64 and BW64 (EBU Tech 3306, ITU-R
BS.2088) for files over 4 GiB, whose real sizes lie in a chunk named ds64.
"""

import re
from dataclasses import dataclass
from typing import Literal

from headworks.intake.voice.contents import Contents
from headworks.intake.voice.limits import PieceCounter

_Order = Literal["little", "big"]
_ORDERS: dict[bytes, _Order] = {b"RIFF": "little", b"RF64": "little", b"BW64": "little", b"RIFX": "big"}
WAV_MAGICS = frozenset(_ORDERS)
_FILE_HEADER_BYTES = 12
_CHUNK_HEADER_BYTES = 8
_FORMAT_BYTES = 16
"""The least that a format chunk holds."""
_FILE_START = re.compile(rb"(?:RIFF|RF64|BW64|RIFX)[\0-\xff]{4}WAVE")
_ELSEWHERE = 0xFFFFFFFF
"""The size that says, in RF64, that the real one lies in ds64."""
_PLACEHOLDERS = (range(0x7FFF0000, 0x80000001), range(0xFFFF0000, 0x100000000))
"""The sizes that writers leave in a header to which they cannot go back: the most that fits, signed or not, or a
little less, for the header itself or rounded down (sox and espeak-ng write 0x7ffff000)."""
_SAMPLE_FORMATS = frozenset({0x0001, 0x0003, 0xFFFE})
"""PCM, floats and the extensible form of both: here one block of the format is one sample of each channel."""


@dataclass(slots=True)
class _Header:
    """The chunks before the samples."""

    magic: bytes
    format: bytes = b""
    fact: bytes = b""
    """The number of samples of a compressed format."""
    data_bytes: int = 0
    """The size of the samples by ds64; 0 where there is none."""

    @property
    def order(self) -> _Order:
        return _ORDERS[self.magic]

    @property
    def block_bytes(self) -> int:
        """Bytes that belong together: one sample of each channel, for the formats in which they cannot be cut."""
        is_plain = int.from_bytes(self.format[:2], self.order) in _SAMPLE_FORMATS
        return max(1, int.from_bytes(self.format[12:14], self.order)) if is_plain else 1

    def note(self, name: bytes, body: bytes) -> None:
        """Keep what a chunk says, if it is one of those that count."""
        if name == b"fmt ":
            self.format = body
        elif name == b"fact":
            self.fact = body
        elif name == b"ds64":
            self.data_bytes = int.from_bytes(body[8:16], self.order)


def read_wav(data: bytes | bytearray, start: int, pieces: PieceCounter) -> Contents:
    """Walk the chunks of the file, and of others that follow it. Blocking.

    Raises:
        TooLarge: there are more chunks than `pieces` allows.
    """
    files: list[bytes] = []
    at: int | None = start
    while at is not None:
        header = _Header(bytes(data[at : at + 4]))
        found = _find_samples(data, at + _FILE_HEADER_BYTES, header, pieces)
        if found is None:
            return Contents(fault="ends before its samples begin")
        samples = _measure(data, *found, header, pieces)
        if isinstance(samples, str):
            return Contents(fault=samples)
        files.append(_file(header, memoryview(data)[samples.start : samples.stop]))
        after = _after(data, samples.start, len(samples))
        if _find_samples(data, after, _Header(header.magic), pieces) is not None:
            return Contents(fault="holds samples in two places")
        following = _FILE_START.search(data, samples.stop)
        at = following.start() if following else None
    return Contents(tuple(files))


def _find_samples(data: bytes | bytearray, at: int, header: _Header, pieces: PieceCounter) -> tuple[int, int] | None:
    """Return where the samples begin, and their size as it is written; None when the file ends before them.

    The chunks up to there are noted in `header`.
    """
    while (chunk := _chunk(data, at, header.order)) is not None and chunk[0] not in _ORDERS:
        pieces.count()
        name, size = chunk
        body = at + _CHUNK_HEADER_BYTES
        if name == b"data":
            return body, size
        if name in (b"fmt ", b"fact", b"ds64"):
            header.note(name, bytes(data[body : body + size]))
        at = _after(data, body, size)
    return None


def _after(data: bytes | bytearray, body: int, size: int) -> int:
    """Return where the next chunk begins. Some writers leave the byte out that makes a length even."""
    end = body + size
    return end + 1 if size % 2 and data[end : end + 1] == b"\0" else end


def _chunk(data: bytes | bytearray, at: int, order: _Order) -> tuple[bytes, int] | None:
    """Return the name and size of the chunk that begins here; None at the end."""
    header = bytes(data[at : at + _CHUNK_HEADER_BYTES])
    if len(header) < _CHUNK_HEADER_BYTES:
        return None
    return header[:4], int.from_bytes(header[4:], order)


def _measure(data: bytes | bytearray, at: int, size: int, header: _Header, pieces: PieceCounter) -> range | str:
    """Return where the samples that begin at `at` lie, or what is wrong with them."""
    if len(header.format) < _FORMAT_BYTES:
        return "names no format before its samples"
    if size == _ELSEWHERE and header.data_bytes:
        size = header.data_bytes
    if _is_placeholder(size) or (size == 0 and not _are_chunks(data, at, header.order, pieces)):
        following = _FILE_START.search(data, at)
        left = (following.start() if following else len(data)) - at
        size = left - left % header.block_bytes
        if left - size > (left + 1) % 2:  # One byte may fill an odd number of them up.
            return "ends in the middle of a sample"
    if size > len(data) - at:
        return "ends before the last sample that its header names"
    return range(at, at + size) if size else "holds no samples"


def _is_placeholder(size: int) -> bool:
    return any(size in sizes for sizes in _PLACEHOLDERS) or size >= 2**64 - 1


def _are_chunks(data: bytes | bytearray, at: int, order: _Order, pieces: PieceCounter) -> bool:
    """Whether chunks follow up to the file's end. Behind a size of 0 these are chunks, and anything else is samples."""
    while at < len(data):
        chunk = _chunk(data, at, order)
        if chunk is None or not chunk[0].isascii() or not chunk[0].decode("ascii").isprintable():
            return False
        pieces.count()
        at += _CHUNK_HEADER_BYTES + chunk[1] + chunk[1] % 2
    return at <= len(data) + 1


def _file(header: _Header, samples: memoryview) -> bytes:
    """Write a file of the format and the samples alone."""

    def sized(name: bytes, body: bytes | memoryview) -> tuple[bytes | memoryview, ...]:
        return name, len(body).to_bytes(4, header.order), body, bytes(len(body) % 2)

    chunks = [*sized(b"fmt ", header.format), *(sized(b"fact", header.fact) if header.fact else ())]
    chunks += sized(b"data", samples)
    size = 4 + sum(len(chunk) for chunk in chunks)
    magic = b"RIFX" if header.order == "big" else b"RIFF"
    return b"".join((magic, size.to_bytes(4, header.order), b"WAVE", *chunks))
