"""The frames of an MP3 file: whether they are all whole, and how many there are, which libsndfile may only guess.

Where the first frame names no count, libsndfile (1.2.2) takes the length from the file's size and that frame's bit
rate. It then stops early in a file whose bit rate changes, and finds a whole file too short when a tag follows.

Source: ISO/IEC 11172-3, section 2.4.1.3, and 13818-3 for the lower rates; the first frame's count as libmpg123 reads
it (libmpg123/frame.c, check_lame_tag).
"""

import re
from dataclasses import dataclass, field
from functools import cache

from headworks.intake.voice.contents import Contents
from headworks.intake.voice.limits import PieceCounter, require_seconds
from headworks.intake.voice.tags import skip_tags, skip_tags_and_zeros

_HEADER_BYTES = 4
_MPEG_1, _LAYER_1, _LAYER_3, _MONO = 3, 3, 1, 3
"""As the two bits of a header have them; version 0 is MPEG 2.5."""
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
_SPARE_SECONDS = 1
"""More than an encoder adds to the sound: the frame with the count, its delay, and what fills the last frame."""
_LIKE_A_HEADER = re.compile(rb"\xff[\xe2-\xff]")


@dataclass(slots=True)
class _Walk:
    """What was found on the way through a file."""

    like: bytes
    """The first frame's header; the others have the same version, layer, rate and number of channels."""
    runs: list[memoryview] = field(default_factory=list)
    """Whole frames without a gap; tags lie between two runs."""
    count: int = 0
    """Whole frames, the one that names a count left out."""
    named: int | None = None
    """How many frames the first one says that follow it; None where it does not."""
    at: int = 0
    """Where the frames and tags are over; behind the end when the last one is cut."""
    is_cut: bool = False
    """Whether a frame begins at `at` and does not end."""

    @property
    def is_complete(self) -> bool:
        """Whether all frames that the file names are there, and no other was begun after them."""
        return self.named == self.count and not self.is_cut


def read_mpeg(data: bytes | bytearray, start: int, max_seconds: int, pieces: PieceCounter) -> Contents | None:
    """Walk the whole file; None when no MPEG audio begins at `start`. Blocking: half a second for 64 MiB.

    Raises:
        TooLarge: over `intake.voice.max_seconds`, or over what `pieces` allows.
    """
    like = bytes(data[start : start + _HEADER_BYTES])
    if not _is_frame(data, start, like):
        return None
    second = start + _length(like)
    if second + _HEADER_BYTES <= len(data) and not _is_frame(data, second, like):
        return None
    walk = _Walk(like, at=start)
    while not walk.is_cut and _is_frame(data, walk.at, like):
        _take_run(data, walk, max_seconds)
        if not walk.is_cut:
            walk.at = skip_tags(data, walk.at, pieces)
    if walk.runs:
        walk.named = _named_count(walk.runs[0], like)
    if walk.named is not None:
        walk.count -= 1
    if fault := _fault(data, walk, pieces):
        return Contents(fault=fault)
    return Contents((_file(walk),))


def _take_run(data: bytes | bytearray, walk: _Walk, max_seconds: int) -> None:
    """Take frames as long as one follows the other."""
    start, hertz, samples = walk.at, _rate_hertz(walk.like), _frame_samples(walk.like)
    while _is_frame(data, walk.at, walk.like):
        end = walk.at + _length(data[walk.at : walk.at + _HEADER_BYTES])
        if end > len(data):
            walk.is_cut = True
            break
        walk.at = end
        walk.count += 1
        require_seconds(walk.count * samples - _SPARE_SECONDS * hertz, hertz, max_seconds)
    if walk.at > start:
        walk.runs.append(memoryview(data)[start : walk.at])


def _file(walk: _Walk) -> bytes:
    """Put the frames together; the first one names how many follow."""
    runs = walk.runs
    if walk.named == walk.count:
        return b"".join(runs)
    if walk.named is not None:
        runs = [runs[0][_length(walk.like) :], *runs[1:]]
    return b"".join((_count_frame(walk.like, walk.count), *runs))


def _fault(data: bytes | bytearray, walk: _Walk, pieces: PieceCounter) -> str:
    """Weigh what follows the last whole frame.

    Where all frames that the file names are there, it is no matter what it is, if it holds no frames: then these were
    cut off from the first ones by damage. Where no count is named, it must be too short for a frame that was lost.
    A cut between two frames shows only where a count is named.
    """
    at = skip_tags_and_zeros(data, walk.at, pieces)
    rest_bytes = max(0, len(data) - at)
    if not walk.is_complete:
        if walk.is_cut or at > len(data) or (rest_bytes < _HEADER_BYTES and data[at : at + 1] == b"\xff"):
            return "ends in the middle of a frame or tag"
        if rest_bytes >= _shortest_bytes(walk.like):
            return f"holds no MPEG frame at byte {at}"
    if _has_frames(data, at, pieces):
        return f"holds no MPEG frame at byte {at}"
    if walk.named is not None and walk.named > walk.count + 1:  # Some encoders count the naming frame.
        return f"ends after {walk.count} of the {walk.named} frames that its header names"
    return ""


def _has_frames(data: bytes | bytearray, at: int, pieces: PieceCounter) -> bool:
    """Whether two frames follow each other somewhere behind `at`."""
    for found in _LIKE_A_HEADER.finditer(data, at):
        pieces.count()
        header = bytes(data[found.start() : found.start() + _HEADER_BYTES])
        if _is_frame(data, found.start(), header) and _is_frame(data, found.start() + _length(header), header):
            return True
    return False


def _is_frame(data: bytes | bytearray, at: int, like: bytes) -> bool:
    """Whether a header of the same version, layer, rate and number of channels begins here."""
    header = data[at : at + _HEADER_BYTES]
    return (
        len(header) == _HEADER_BYTES
        and header[0] == 0xFF
        and header[1] & 0xFE == like[1] & 0xFE
        and header[2] & 0x0C == like[2] & 0x0C
        and (header[3] >> 6 == _MONO) == (like[3] >> 6 == _MONO)
        and _length(header) > 0
    )


def _length(header: bytes | bytearray) -> int:
    """Return the bytes of a frame, header included; 0 for what is none, or of free bit rate."""
    return _length_of(header[1], header[2])


@cache
def _length_of(second: int, third: int) -> int:
    version, layer, rate, bits = second >> 3 & 3, second >> 1 & 3, third >> 2 & 3, third >> 4
    if second < 0xE0 or version not in _RATE_DIVISORS or layer == 0 or rate == 3 or bits in (0, 15):
        return 0
    is_full = version == _MPEG_1
    bits_per_second = _KILOBITS[is_full, layer][bits - 1] * 1000
    hertz, padding = _RATES_HERTZ[rate] // _RATE_DIVISORS[version], third >> 1 & 1
    if layer == _LAYER_1:
        return (12 * bits_per_second // hertz + padding) * 4
    return (144 if is_full or layer != _LAYER_3 else 72) * bits_per_second // hertz + padding


def _shortest_bytes(like: bytes) -> int:
    """Return the bytes of a frame of the lowest bit rate."""
    return _length_of(like[1], 1 << 4 | like[2] & 0x0C)


def _rate_hertz(like: bytes) -> int:
    return _RATES_HERTZ[like[2] >> 2 & 3] // _RATE_DIVISORS[like[1] >> 3 & 3]


def _frame_samples(like: bytes) -> int:
    """Return the samples that one frame holds of each channel."""
    layer = like[1] >> 1 & 3
    if layer == _LAYER_1:
        return 384
    return 576 if layer == _LAYER_3 and like[1] >> 3 & 3 != _MPEG_1 else 1152


def _side_bytes(like: bytes) -> int:
    """Return the length of layer III's side information, between a header and the name of a count."""
    is_mono = like[3] >> 6 == _MONO
    return (17 if is_mono else 32) if like[1] >> 3 & 3 == _MPEG_1 else (9 if is_mono else 17)


def _named_count(run: memoryview, like: bytes) -> int | None:
    at = _HEADER_BYTES + _side_bytes(like)
    name = bytes(run[at : at + 12])
    if name[:4] not in (b"Xing", b"Info") or not int.from_bytes(name[4:8], "big") & 1:
        return None
    return int.from_bytes(name[8:12], "big")


def _count_frame(like: bytes, count: int) -> bytes:
    """Return a silent frame that names a count; none for layers I and II, whose constant bit rate needs no count."""
    if like[1] >> 1 & 3 != _LAYER_3:
        return b""
    body = bytes(_side_bytes(like)) + b"Info" + (1).to_bytes(4, "big") + count.to_bytes(4, "big")
    second, rate = like[1] | 1, like[2] & 0x0C
    third = next(
        third for index in range(1, 15) if _length_of(second, third := index << 4 | rate) >= _HEADER_BYTES + len(body)
    )
    return (bytes((0xFF, second, third, like[3])) + body).ljust(_length_of(second, third), b"\0")
