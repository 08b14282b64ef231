"""The frames of an MP3 file: whether they are all whole, and how many there are, which libsndfile may only guess.

Where the first frame names no count, libsndfile (1.2.2) takes the length from the file's size and that frame's bit
rate: it stops early in a file whose bit rate changes, and calls a whole one with a tag too short.

Source: ISO/IEC 11172-3, section 2.4.1.3, and 13818-3 for the lower rates; the first frame's count as libmpg123 reads
it (libmpg123/frame.c, check_lame_tag); ID3v2.4, section 3.1; APEv2; Lyrics3 v2.
"""

import re
from dataclasses import dataclass
from functools import cache

_HEADER_BYTES = 4
_MPEG_1, _LAYER_3, _MONO = 3, 1, 3
"""As the two bits of a header have them; version 0 is MPEG 2.5, layer 3 is layer I."""
_RATES_HERTZ = (44_100, 48_000, 32_000)
_RATE_DIVISORS = {3: 1, 2: 2, 0: 4}
_LOW = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_KILOBITS = {
    (True, 3): tuple(range(32, 449, 32)),
    (True, 2): (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (True, 1): (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (False, 3): (32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
    (False, 2): _LOW,
    (False, 1): _LOW,
}
"""By (is MPEG 1, layer) and the index in a header, which begins at 1."""
_LYRICS = re.compile(rb"LYRICS(END|200)")


@dataclass(frozen=True, slots=True)
class MpegFrames:
    """What was found in a file."""

    data: bytes
    """The frames alone, without tags, the first one naming how many there are."""
    fault: str
    """What is wrong, for a sentence that begins with "the MP3 file"; "" when all is well."""


def read_frames(data: bytes | bytearray) -> MpegFrames | None:
    """Walk the whole file; None when it is no MPEG audio. Blocking: half a second for 64 MiB."""
    first = _skip_tags(data, 0)
    like = bytes(data[first : first + _HEADER_BYTES])
    if not _is_frame(data, first, like):
        return None
    second = first + _length(like[1], like[2])
    if second + _HEADER_BYTES <= len(data) and not _is_frame(data, second, like):
        return None
    view, runs, count, at = memoryview(data), list[memoryview](), 0, first
    while _is_frame(data, at, like):
        start = at
        while _is_frame(data, at, like):
            at += _length(data[at + 1], data[at + 2])
            count += 1
        runs.append(view[start:at])
        at = _skip_tags(data, at)
    named = _named_count(runs[0], like)
    if named is not None:
        count -= 1
        if named != count:
            runs[0] = runs[0][_length(like[1], like[2]) :]
    head = b"" if named == count else _count_frame(like, count)
    return MpegFrames(b"".join((head, *runs)), _fault(data, at, count, named))


def _fault(data: bytes | bytearray, at: int, count: int, named: int | None) -> str:
    """Weigh where the frames end. A cut between two frames shows only where a count is named."""
    rest = bytes(data[at : at + _HEADER_BYTES])
    if at > len(data) or (rest[:1] == b"\xff" and len(rest) < _HEADER_BYTES):
        return "ends in the middle of a frame or tag"
    if data[at:].strip(b"\0"):
        return f"holds no MPEG frame at byte {at}"
    if named is not None and named > count + 1:  # some encoders count the frame that names it
        return f"ends after {count} of the {named} frames that its header names"
    return ""


def _is_frame(data: bytes | bytearray, at: int, like: bytes) -> bool:
    """Whether a header of the same version, layer, rate and number of channels begins here."""
    header = data[at : at + _HEADER_BYTES]
    return (
        len(header) == _HEADER_BYTES
        and header[0] == 0xFF
        and header[1] & 0xFE == like[1] & 0xFE
        and header[2] & 0x0C == like[2] & 0x0C
        and (header[3] >> 6 == _MONO) == (like[3] >> 6 == _MONO)
        and _length(header[1], header[2]) > 0
    )


@cache
def _length(second: int, third: int) -> int:
    """Bytes of a frame, header included, from two bytes of it; 0 for what is none, or of free bit rate."""
    version, layer, rate, bits = second >> 3 & 3, second >> 1 & 3, third >> 2 & 3, third >> 4
    if second < 0xE0 or version not in _RATE_DIVISORS or layer == 0 or rate == 3 or bits in (0, 15):
        return 0
    is_full = version == _MPEG_1
    bits_per_second = _KILOBITS[is_full, layer][bits - 1] * 1000
    hertz, padding = _RATES_HERTZ[rate] // _RATE_DIVISORS[version], third >> 1 & 1
    if layer == 3:
        return (12 * bits_per_second // hertz + padding) * 4
    return (144 if is_full or layer != _LAYER_3 else 72) * bits_per_second // hertz + padding


def _skip_tags(data: bytes | bytearray, at: int) -> int:
    """Where the tags that begin here are over; behind the end for one that is cut."""
    while True:
        start = bytes(data[at : at + 32])
        if start.startswith(b"ID3") and len(start) > 10:
            size = sum((byte & 0x7F) << shift for byte, shift in zip(start[6:10], (21, 14, 7, 0), strict=True))
            at += 10 + size + (10 if start[5] & 0x10 else 0)
        elif start.startswith(b"TAG"):
            at += 128
        elif start.startswith(b"APETAGEX") and len(start) == 32:
            at += 32 + int.from_bytes(start[12:16], "little")
        elif start.startswith(b"LYRICSBEGIN") and (end := _LYRICS.search(data, at)):
            at = end.end()
        else:
            return at


def _side_bytes(like: bytes) -> int:
    """Length of layer III's side information, between a header and the name of a count."""
    is_mono = like[3] >> 6 == _MONO
    return (17 if is_mono else 32) if like[1] >> 3 & 3 == _MPEG_1 else (9 if is_mono else 17)


def _named_count(run: memoryview, like: bytes) -> int | None:
    """How many frames the first one says that follow it; None where it does not."""
    at = _HEADER_BYTES + _side_bytes(like)
    name = bytes(run[at : at + 12])
    if name[:4] not in (b"Xing", b"Info") or not int.from_bytes(name[4:8], "big") & 1:
        return None
    return int.from_bytes(name[8:12], "big")


def _count_frame(like: bytes, count: int) -> bytes:
    """A silent frame that names a count; none for layers I and II, which have no such thing and a constant bit rate."""
    if like[1] >> 1 & 3 != _LAYER_3:
        return b""
    body = bytes(_side_bytes(like)) + b"Info" + (1).to_bytes(4, "big") + count.to_bytes(4, "big")
    second, rate = like[1] | 1, like[2] & 0x0C
    third = next(third for index in range(1, 15) if _length(second, third := index << 4 | rate) >= 4 + len(body))
    return (bytes((0xFF, second, third, like[3])) + body).ljust(_length(second, third), b"\0")
