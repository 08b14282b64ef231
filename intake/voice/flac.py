"""The frames of a FLAC file, and how many samples they hold where the header does not say.

A FLAC that was written into a pipe names no length, and libsndfile (1.2.2) cannot read on in one. Each frame says
where it begins, so the last one tells the length. It is written into the header that the decoder gets; the metadata,
of which there may be any amount, is left out.

Source: RFC 9639, sections 8 (metadata), 9.1 (frame header) and 9.1.8 (its CRC).
"""

import re
from dataclasses import dataclass

from headworks.intake.voice.contents import Contents
from headworks.intake.voice.limits import PieceCounter

_MAGIC = b"fLaC"
_INFO_START = b"fLaC\x80\0\0\x22"
"""The beginning of a file whose only metadata is STREAMINFO."""
_FILE_START = re.compile(rb"fLaC[\0\x80]\0\0\x22")
"""The beginning of any file: STREAMINFO is the first block of all."""
_BLOCK_HEADER_BYTES = 4
_LAST_BLOCK = 0x80
_INFO_BYTES = 34
"""The length of STREAMINFO."""
_TOTAL_BITS = 36
"""The bits that hold the number of samples, at the end of STREAMINFO's first 18 bytes."""
_MAX_HEADER_BYTES = 16
"""The longest header of a frame: 4 bytes, a number of 7, 2 of block size, 2 of rate, the CRC."""
_SYNC_FIXED, _SYNC_VARIABLE = b"\xff\xf8", b"\xff\xf9"


@dataclass(frozen=True, slots=True)
class _FrameHeader:
    """What the header of a frame says."""

    number: int
    """Counts frames where all but the last are of one size, samples where sizes vary."""
    samples: int
    like: tuple[int, int]
    """Rate and sample size in their coded form, which all frames of a file share."""


def read_flac(data: bytes | bytearray, start: int, pieces: PieceCounter) -> Contents:
    """Skip the metadata and find the length, of this file and of others that follow it. Blocking.

    Raises:
        TooLarge: there are more metadata blocks, or signs of a frame, than `pieces` allows.
    """
    files: list[bytes] = []
    at: int | None = start
    while at is not None:
        info = bytes(data[at + len(_INFO_START) : at + len(_INFO_START) + _INFO_BYTES])
        frames = _skip_metadata(data, at + len(_MAGIC), pieces)
        if frames is None:
            return Contents(fault="ends in its metadata")
        following = _FILE_START.search(data, frames)
        end = following.start() if following else len(data)
        total = _total(info) or _count_samples(data, frames, end, pieces)
        if not total:
            return Contents(fault="names no length, and no frame tells it")
        files.append(b"".join((_INFO_START, _with_total(info, total), memoryview(data)[frames:end])))
        at = following.start() if following else None
    return Contents(tuple(files))


def _skip_metadata(data: bytes | bytearray, at: int, pieces: PieceCounter) -> int | None:
    """Return where the frames begin; None when the file ends before them."""
    is_last = False
    while not is_last:
        header = bytes(data[at : at + _BLOCK_HEADER_BYTES])
        if len(header) < _BLOCK_HEADER_BYTES:
            return None
        pieces.count()
        is_last = bool(header[0] & _LAST_BLOCK)
        at += _BLOCK_HEADER_BYTES + int.from_bytes(header[1:], "big")
    return at if at <= len(data) else None


def is_flac(start: bytes) -> bool:
    """Whether a file begins like a FLAC, by its first eight bytes."""
    return _FILE_START.match(start) is not None


def _total(info: bytes) -> int:
    return int.from_bytes(info[10:18], "big") & (1 << _TOTAL_BITS) - 1


def _with_total(info: bytes, samples: int) -> bytes:
    total = min(samples, (1 << _TOTAL_BITS) - 1)
    return info[:10] + (int.from_bytes(info[10:18], "big") | total).to_bytes(8, "big") + info[18:]


def _count_samples(data: bytes | bytearray, start: int, end: int, pieces: PieceCounter) -> int:
    """Return where the last frame that begins will end; 0 when there is none.

    A file that was cut within that frame decodes to fewer samples, which tells the cut. The sign that a frame begins
    with may lie within another one; then rate, sample size or the CRC are wrong, but for one in some billions.
    """
    first = _frame_header(bytes(data[start : start + _MAX_HEADER_BYTES]))
    if first is None:
        return 0
    sync = bytes(data[start : start + 2])
    while (at := data.rfind(sync, start, end)) >= 0:
        pieces.count()
        header = _frame_header(bytes(data[at : at + _MAX_HEADER_BYTES]))
        if header is not None and header.like == first.like:
            return header.number * (1 if sync == _SYNC_VARIABLE else first.samples) + header.samples
        end = at + 1
    return 0


def _frame_header(header: bytes) -> _FrameHeader | None:
    """Read a frame's header; None for what is none."""
    if len(header) < 6 or header[:2] not in (_SYNC_FIXED, _SYNC_VARIABLE) or header[3] & 1:
        return None
    size, rate = header[2] >> 4, header[2] & 0x0F
    number, at = _coded_number(header)
    size_bytes = {6: 1, 7: 2}.get(size, 0)
    end = at + size_bytes + {12: 1, 13: 2, 14: 2}.get(rate, 0)
    if at == 0 or size == 0 or rate == 15 or end >= len(header) or _crc8(header[: end + 1]) != 0:
        return None
    return _FrameHeader(number, _block_samples(size, header[at : at + size_bytes]), (rate, header[3] >> 1 & 7))


def _coded_number(header: bytes) -> tuple[int, int]:
    """Return the number behind the first four bytes, written as UTF-8 writes characters, and where it is over.

    The second is 0 when no number is written there.
    """
    first = header[4]
    if first < 0x80:
        return first, 5
    length = 8 - (first ^ 0xFF).bit_length()
    rest = header[5 : 4 + length]
    if not 2 <= length <= 7 or len(rest) < length - 1 or any(byte >> 6 != 2 for byte in rest):
        return 0, 0
    number = first & (0x7F >> length)
    for byte in rest:
        number = number << 6 | byte & 0x3F
    return number, 4 + length


def _block_samples(size: int, uncommon: bytes) -> int:
    if size == 1:
        return 192
    if size < 6:
        return 576 << size - 2
    return int.from_bytes(uncommon, "big") + 1 if size < 8 else 256 << size - 8


def _crc8(data: bytes) -> int:
    """Return the CRC with the polynomial x^8 + x^2 + x + 1, from 0; it is 0 over data that ends in its own."""
    crc = 0
    for byte in data:
        crc = _CRC8[crc ^ byte]
    return crc


def _crc8_of(byte: int) -> int:
    for _ in range(8):
        byte = (byte << 1 ^ 0x07) & 0xFF if byte & 0x80 else byte << 1
    return byte


_CRC8 = bytes(_crc8_of(byte) for byte in range(256))
