"""JPEG: its size, and the segments that its pixels are made of. Pure. Markers are those of ITU-T T.81, table B.1."""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from headworks.intake.image.formats.plain_file import MOST_PARTS, Damaged, PlainFile

_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""Start-of-frame markers; the three left out are tables and a reserved one."""
_FOR_PIXELS = frozenset({*range(0xC0, 0xD0), *range(0xDB, 0xE0)})
"""Frames, tables and restart intervals."""
_EXIF, _SCAN, _END = 0xE1, 0xDA, 0xD9
_COLOURS = {0xE0: (b"JFIF\0", 14), 0xEE: (b"Adobe", 12)}
"""Application segments that tell how colours are stored: their first bytes, and their least length. A shorter one is
not one of them (libjpeg-turbo 3, jdmarker.c)."""
_MARKER = re.compile(rb"\xff([^\x00\x01\xff\xd0-\xd8])", re.DOTALL)
"""What begins a segment. The codes left out are stuffed or filled bytes, and markers that have no segment."""
_COEFFICIENTS = 64
"""Of one block."""
_OTHER_BYTES = tuple(bytes((first + 97 * step) % 255 for step in range(1020)) for first in (0xA5, 0x5A))
"""Blocks that nobody drew, twice: mixed bytes without 255, which begins a marker. Neither begins with two equal bits,
as the zeros do that libjpeg takes for missing bits."""


@dataclass(frozen=True, slots=True)
class _Segment:
    marker: int
    body: bytes
    start: int
    """Where its marker is."""

    @property
    def end(self) -> int:
        return self.start + 4 + len(self.body)


def read_size(data: bytes) -> tuple[int, int]:
    """Return width and height.

    Raises:
        Damaged: the file ends before its first frame.
    """
    for segment in _segments(data, 2):
        if segment.marker in _FRAMES and len(segment.body) >= 6:
            height, width = struct.unpack_from(">HH", segment.body, 1)
            return width, height
    raise Damaged


def strip(data: bytes) -> PlainFile:
    """Keep what pixels and their colours are made of, without what stands between segments or after the picture's end.

    A file without an end-of-image marker gets one, and twins.

    Raises:
        Damaged: there is no scan, or there is no end-of-image marker and a scan is missing.
    """
    kept, exif = [b"\xff\xd8"], b""
    for segment in _segments(data, 2):
        if segment.marker == _SCAN:
            return _with_end(b"".join(kept) + data[segment.start :], exif)
        if segment.marker == _EXIF and segment.body.startswith(b"Exif\0\0"):
            exif = exif or segment.body[6:]
        if segment.marker in _FOR_PIXELS or _tells_colours(segment):
            kept.append(data[segment.start : segment.end])
    raise Damaged


def _segments(data: bytes, place: int) -> Iterator[_Segment]:
    """Walk from marker to marker, over stray bytes as libjpeg does, to the end-of-image marker or the last bytes.

    Raises:
        Damaged: more segments than anybody writes.
    """
    for _ in range(MOST_PARTS):
        found = _MARKER.search(data, place)
        if found is None:
            return
        start, code = found.start(), found[1][0]
        length = 2 if code == _END else int.from_bytes(data[start + 2 : start + 4], "big")
        place = start + 2 + length
        if code != _END and (length < 2 or place > len(data)):
            return
        yield _Segment(code, data[start + 4 : place], start)
        if code == _END:
            return
    raise Damaged


def _tells_colours(segment: _Segment) -> bool:
    first, least = _COLOURS.get(segment.marker, (b"", 1 << 16))
    return segment.body.startswith(first) and len(segment.body) >= least


def _with_end(data: bytes, exif: bytes) -> PlainFile:
    """Cut the file after its end-of-image marker, or add one."""
    scans = _Scans()
    for segment in _segments(data, 2):
        if segment.marker == _END:
            return PlainFile(data[: segment.start + 2], exif, passes=scans.count)
        scans.note(segment)
    if scans.missing:
        raise Damaged
    data, end = data.rstrip(b"\xff"), bytes((0xFF, _END))
    twins = tuple(data + _with_restarts(other, data, scans.last_start) + end for other in _OTHER_BYTES)
    return PlainFile(data + end, exif, twins, scans.count)


class _Scans:
    """How much of a picture its scans send. A progressive file sends each coefficient's first bits before its last."""

    def __init__(self) -> None:
        self.count = 0
        self.last_start = 0
        self.missing: set[tuple[int, int]] = set()
        """Component and coefficient, of those whose last bit no scan has sent."""

    def note(self, segment: _Segment) -> None:
        body = segment.body
        if segment.marker in _FRAMES and len(body) >= 6:
            components = body[6 : 6 + 3 * body[5] : 3]
            self.missing = {(component, place) for component in components for place in range(_COEFFICIENTS)}
        elif segment.marker == _SCAN:
            self.count += 1
            self.last_start = segment.start
            if len(body) >= 6 and body[-1] & 0x0F == 0:
                components, places = body[1 : 1 + 2 * body[0] : 2], range(body[-3], body[-2] + 1)
                self.missing -= {(component, place) for component in components for place in places}


def _with_restarts(other: bytes, data: bytes, last_scan: int) -> bytes:
    """Return bytes that would become blocks if some were missing, wherever the file was cut.

    A decoder that waits for a restart marker skips all bytes before it, so each of the eight is there, in turn.
    """
    places = [data.rfind(bytes((0xFF, 0xD0 + number)), last_scan) for number in range(8)]
    following = places.index(max(places)) + 1 if max(places) >= 0 else 0
    restarts = (bytes((0xFF, 0xD0 + (following + step) % 8)) for step in range(8))
    return other + b"".join(restart + other for restart in restarts)
