"""The streams of an OGG file, each with its pages checked.

libsndfile (1.2.2) reads the first stream of a chain only, reads a cut file as a shorter one, skips a damaged page, and
calls an Opus stream malformed whose last page is not marked. So the pages are walked here, and the decoder is given
one marked stream after the other.

Source: RFC 3533, section 6, for pages; sections 4 and 5 for streams that are chained or lie side by side. The first
packets are those of RFC 7845, the Vorbis I specification, RFC 9639 section 10.1, and the Speex manual.
"""

import struct
import zlib
from dataclasses import dataclass, field

from headworks.intake.voice.contents import Contents
from headworks.intake.voice.limits import PieceCounter
from headworks.intake.voice.tags import skip_tags_and_zeros

OGG_MAGIC = b"OggS"
_PAGE_HEADER = struct.Struct("<4sBBqIIIB")
"""Magic, version, flags, position, stream, number, CRC, count of segments."""
_FIRST_PAGE, _LAST_PAGE = 2, 4
_FULL_SEGMENT = 255
"""A segment of this length does not end its packet."""
_SOUND_STARTS = (b"OpusHead", b"\x01vorbis", b"\x7fFLAC", b"Speex   ")
_REFLECTED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
"""Each byte with its bits in reverse order."""


@dataclass(frozen=True, slots=True)
class _Page:
    """One whole page, with a CRC that fits."""

    view: memoryview
    flags: int
    stream: int
    body: memoryview
    ends_packet: bool


@dataclass(slots=True)
class _Link:
    """Streams that begin together and lie side by side: one of a chain's links."""

    sounds: dict[int, list[_Page]] = field(default_factory=dict)
    """The pages of the streams that a decoder is known for, by the streams' numbers."""
    has_body: bool = False
    """Whether pages have come that are no stream's first; streams that begin later belong to the next link."""

    def take(self, page: _Page) -> None:
        if page.flags & _FIRST_PAGE:
            if bytes(page.body[:8]).startswith(_SOUND_STARTS):  # Not of pictures, subtitles, or an index.
                self.sounds[page.stream] = []
        else:
            self.has_body = True
        if page.stream in self.sounds:
            self.sounds[page.stream].append(page)

    @property
    def is_marked(self) -> bool:
        """Whether the last page of each sound is marked as its last."""
        return all(pages[-1].flags & _LAST_PAGE for pages in self.sounds.values())

    @property
    def fault(self) -> str:
        """What is wrong; "" when all is well."""
        if len(self.sounds) != 1:
            return f"holds {len(self.sounds)} sounds side by side" if self.sounds else "holds no sound of a known kind"
        (pages,) = self.sounds.values()
        if any(page.flags & _LAST_PAGE for page in pages[:-1]):
            return "goes on after the page that is marked as its last"
        if not self.is_marked and not pages[-1].ends_packet:
            return "ends in the middle of a packet"
        return ""

    def file(self) -> bytes:
        """Write a file of the one sound alone, with its last page marked: some writers never do (RFC 7845, 3)."""
        (pages,) = self.sounds.values()
        last = pages[-1]
        end = last.view if last.flags & _LAST_PAGE else _marked(last)
        return b"".join((*(page.view for page in pages[:-1]), end))


def read_ogg(data: bytes | bytearray, start: int, pieces: PieceCounter) -> Contents:
    """Walk all pages. Blocking.

    A cut between two pages cannot be told from a writer that never marked the last one, so it is no fault.

    Raises:
        TooLarge: there are more pages than `pieces` allows.
    """
    links: list[_Link] = []
    at = start
    while at < len(data):
        page = _page(data, at)
        if isinstance(page, str):
            return Contents(fault=page)
        if page is None:
            break
        pieces.count()
        if page.flags & _FIRST_PAGE and (not links or links[-1].has_body):
            links.append(_Link())
        if not links:
            return Contents(fault="begins in the middle of a stream")
        links[-1].take(page)
        at += len(page.view)
    fault = next((link.fault for link in links if link.fault), "") or _rest_fault(data, at, links, pieces)
    return Contents(fault=fault) if fault else Contents(tuple(link.file() for link in links))


def _page(data: bytes | bytearray, at: int) -> _Page | str | None:
    """Read the page that begins here; a sentence when it is cut or damaged, None when none begins here."""
    if data[at : at + 4] != OGG_MAGIC:
        return None
    if at + _PAGE_HEADER.size > len(data):
        return "ends in the middle of a page"
    _, _, flags, _, stream, _, crc, count = _PAGE_HEADER.unpack_from(data, at)
    body = at + _PAGE_HEADER.size + count
    segments = data[body - count : body]
    end = body + sum(segments)
    if body > len(data) or end > len(data):
        return "ends in the middle of a page"
    view = memoryview(data)[at:end]
    if _crc(bytes(view)) != crc:
        return f"has a damaged page at byte {at}"
    return _Page(view, flags, stream, view[body - at :], not segments or segments[-1] != _FULL_SEGMENT)


def _rest_fault(data: bytes | bytearray, at: int, links: list[_Link], pieces: PieceCounter) -> str:
    """Weigh what follows the last page: anything but a page when that one was marked, else tags and zeros."""
    if links[-1].is_marked and data.find(OGG_MAGIC, at) < 0:
        return ""
    at = skip_tags_and_zeros(data, at, pieces)
    return f"holds no page at byte {at}" if at < len(data) else ""


def _marked(page: _Page) -> bytes:
    """Return the page with the mark of the last one."""
    marked = bytearray(page.view)
    marked[5] |= _LAST_PAGE
    marked[22:26] = _crc(bytes(marked)).to_bytes(4, "little")
    return bytes(marked)


def _crc(page: bytes) -> int:
    """Return the page's CRC, over the page with zeros for its CRC.

    The polynomial is zlib's, which reads each byte from its lowest bit, begins with ones and inverts what comes out;
    here it is read from the highest, from zeros, and left as it is.
    """
    plain = page[:22] + bytes(4) + page[26:]
    reflected = zlib.crc32(plain.translate(_REFLECTED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int.from_bytes(reflected.to_bytes(4, "big").translate(_REFLECTED), "little")
