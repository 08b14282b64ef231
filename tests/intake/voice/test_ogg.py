"""OGG files of one stream and of several, marked at their end and not, cut and damaged."""

from dataclasses import dataclass

import numpy as np
import pytest

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.voice.settings import VoiceSettings
from tests.intake.voice.speech import AUSTEN, QUESTION_FILE, encoded, read_container, samples_of

KINDS = ["OPUS", "VORBIS"]
FIRST_PAGE, LAST_PAGE = 2, 4


def ogg(kind: str, rate: int = 16_000) -> bytes:
    return encoded(samples_of(AUSTEN), rate, format="OGG", subtype=kind)


def checksum(page: bytes) -> int:
    """The CRC as RFC 3533 has it, bit by bit."""
    value = 0
    for byte in page[:22] + bytes(4) + page[26:]:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ 0x04C11DB7 if value >> 31 else value << 1) & 0xFFFFFFFF
    return value


@dataclass(frozen=True, slots=True)
class Page:
    flags: int
    position: int
    stream: int
    number: int
    segments: bytes
    body: bytes

    def packed(self) -> bytes:
        page = b"OggS\0" + bytes((self.flags,)) + self.position.to_bytes(8, "little", signed=True)
        page += self.stream.to_bytes(4, "little") + self.number.to_bytes(4, "little") + bytes(4)
        page += bytes((len(self.segments),)) + self.segments + self.body
        return page[:22] + checksum(page).to_bytes(4, "little") + page[26:]


def pages(data: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(data):
        body = at + 27 + data[at + 26]
        end = body + sum(data[at + 27 : body])
        found.append(data[at:end])
        at = end
    return found


def unmarked(data: bytes) -> bytes:
    """The file of a writer that never says which page is its last."""
    *others, last = pages(data)
    last = last[:5] + bytes((last[5] & ~LAST_PAGE,)) + last[6:]
    return b"".join(others) + last[:22] + checksum(last).to_bytes(4, "little") + last[26:]


@pytest.mark.parametrize("kind", KINDS)
def test_every_link_of_a_chain_is_heard(kind: str) -> None:
    """The decoder reads the first only (libsndfile/libsndfile#277), whatever kind and rate the others have."""
    others = [ogg("VORBIS", 44_100), ogg("OPUS", 48_000), encoded(samples_of(QUESTION_FILE), 16_000, format="OGG")]
    chain = [ogg(kind), *others]
    expected = [read_container(link) for link in chain]
    np.testing.assert_array_equal(read_container(b"".join(chain)), np.concatenate(expected))


@pytest.mark.parametrize("kind", KINDS)
def test_links_need_no_mark_and_no_stream_number_of_their_own(kind: str) -> None:
    """A new first page begins a new link, wherever it stands."""
    one = unmarked(ogg(kind))
    np.testing.assert_array_equal(read_container(one + one), np.concatenate([read_container(ogg(kind))] * 2))


@pytest.mark.parametrize("kind", KINDS)
def test_last_page_needs_no_mark(kind: str) -> None:
    """Telegram on Android never marks it (ekhodzitsky/gigastt#218); the decoder calls such an Opus malformed."""
    np.testing.assert_array_equal(read_container(unmarked(ogg(kind))), read_container(ogg(kind)))


@pytest.mark.parametrize("kind", KINDS)
def test_cut_within_a_page_is_noticed(kind: str) -> None:
    """In a chain too: half a second sentence is no sentence. Only a cut between two pages is told by nothing."""
    data = ogg(kind)
    ends = np.cumsum([len(page) for page in pages(data)])
    for end in range(100, len(data), 97):
        if end not in ends:
            for start in (b"", data):
                with pytest.raises(BadMedia, match="voice 1: the OGG file ends in the middle of a page"):
                    read_container(start + data[:end])


def test_packet_that_is_not_ended_is_a_cut() -> None:
    """It was to go on in the next page."""
    data = ogg("OPUS")
    last = Page(0, 10**6, int.from_bytes(data[14:18], "little"), 99, b"\xff", bytes(255))
    with pytest.raises(BadMedia, match="voice 1: the OGG file ends in the middle of a packet"):
        read_container(unmarked(data) + last.packed())


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_page_is_named(kind: str) -> None:
    """The decoder would leave it out; the first and the last one leave no trace."""
    whole = pages(ogg(kind))
    for number in range(len(whole)):
        damaged = whole[number][:-5] + bytes((whole[number][-5] ^ 1,)) + whole[number][-4:]
        at = sum(map(len, whole[:number]))
        with pytest.raises(BadMedia, match=f"voice 1: the OGG file has a damaged page at byte {at}$"):
            read_container(b"".join((*whole[:number], damaged, *whole[number + 1 :])))


@pytest.mark.parametrize("end", [b"\n", bytes(1000), b"TAG" + bytes(125), b"x" * 5000])
def test_what_follows_a_marked_page_is_no_sound(end: bytes) -> None:
    """All pages are there."""
    np.testing.assert_array_equal(read_container(ogg("OPUS") + end), read_container(ogg("OPUS")))


def test_only_padding_may_follow_a_page_without_a_mark() -> None:
    """Anything else may have been a page."""
    data = unmarked(ogg("OPUS"))
    np.testing.assert_array_equal(read_container(data + bytes(1000) + b"TAG" + bytes(125)), read_container(data))
    with pytest.raises(BadMedia, match=f"the OGG file holds no page at byte {len(data)}$"):
        read_container(data + b"x")


def test_link_behind_junk_is_never_dropped() -> None:
    """It would go unheard."""
    data = ogg("OPUS")
    with pytest.raises(BadMedia, match=f"the OGG file holds no page at byte {len(data)}$"):
        read_container(data + b"\n" + data)


def test_streams_beside_the_sound_are_left_out() -> None:
    """An index or a picture lies between the pages; their writers mark their last pages as well, or do not."""
    data = pages(ogg("VORBIS"))
    index = [Page(FIRST_PAGE, 0, 7, 0, b"\x08", b"fishead\0"), Page(0, -1, 7, 1, b"\xff", bytes(255))]
    mixed = [data[0], index[0].packed(), data[1], index[1].packed(), *data[2:]]
    np.testing.assert_array_equal(read_container(b"".join(mixed)), read_container(b"".join(data)))


def test_two_sounds_side_by_side_are_refused() -> None:
    """Which of them was meant, only the sender knows."""
    one, other = pages(ogg("VORBIS")), pages(ogg("OPUS"))
    with pytest.raises(BadMedia, match="voice 1: the OGG file holds 2 sounds side by side"):
        read_container(b"".join((one[0], other[0], *one[1:], *other[1:])))


def test_file_without_a_sound_is_refused() -> None:
    """A video has one, or none."""
    page = Page(FIRST_PAGE | LAST_PAGE, 0, 7, 0, b"\x08", b"\x80theora\0")
    with pytest.raises(BadMedia, match="voice 1: the OGG file holds no sound of a known kind"):
        read_container(page.packed())


def test_file_that_begins_in_the_middle_is_refused() -> None:
    """No header says how to decode it."""
    with pytest.raises(BadMedia, match="voice 1: the OGG file begins in the middle of a stream"):
        read_container(b"".join(pages(ogg("OPUS"))[1:]))


def test_stream_that_goes_on_after_its_end_is_refused() -> None:
    """The decoder stops at the mark, and would drop the rest."""
    data = ogg("OPUS")
    more = Page(0, 10**6, int.from_bytes(data[14:18], "little"), 99, b"\x01", b"\x08")
    with pytest.raises(BadMedia, match="goes on after the page that is marked as its last"):
        read_container(data + more.packed())


def test_links_of_a_chain_have_a_limit() -> None:
    """Each costs a decoder, and may hold a hundred bytes."""
    with pytest.raises(TooLarge, match=r"intake\.voice\.max_joined_files allows 2, the input has 3"):
        read_container(ogg("OPUS") * 3, VoiceSettings(max_joined_files=2))
    with pytest.raises(TooLarge, match=r"intake\.voice\.max_seconds allows 6, the input has 7"):
        read_container(ogg("OPUS") * 2, VoiceSettings(max_seconds=6))
