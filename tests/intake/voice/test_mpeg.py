"""MP3 files with and without a count of their frames, whole, cut, tagged and put together."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.voice.container import ContainerReader
from headworks.intake.voice.contents import Contents
from headworks.intake.voice.limits import PieceCounter
from headworks.intake.voice.mpeg import read_mpeg
from headworks.intake.voice.settings import VoiceSettings
from headworks.intake.voice.tags import skip_tags_and_zeros
from tests.intake.voice.speech import AUSTEN, encoded, read_container, samples_of

ENCODER_DELAY = 576
"""LAME's, which a player takes off only where LAME's own first frame says so."""
COUNTED = encoded(samples_of(AUSTEN), 16_000, format="MP3")
"""Of changing bit rate, as libsndfile writes it: the first frame is LAME's, with the count of the others."""
COUNT_AT = COUNTED.index(b"Xing") + 8
BARE = COUNTED[COUNTED.index(COUNTED[:2], 4) :]
"""The same without it, as streams and many encoders have it."""
ID3 = b"ID3\x04\x00\x00" + bytes((0, 3, 16, 0)) + b"\xff\xfb\x90\x00" * (3 * 128 + 16) * 32
"""Fifty kilobytes, as a picture of a cover has them, full of what looks like frames."""
TAGS = {
    "ID3v1": b"TAG" + bytes(125),
    "APE": b"APETAGEX" + bytes((208, 7, 0, 0, 64, 0, 0, 0)) + bytes(16) + b"x" * 64,
    "Lyrics3": b"LYRICSBEGINnever mind LYRICS200",
    "ID3v2": ID3,
    "several": b"TAG" + bytes(125) + ID3,
}


def walk(data: bytes) -> Contents | None:
    """Find the frames of a file that begins with a tag or a frame."""
    pieces = PieceCounter(10**6)
    return read_mpeg(data, skip_tags_and_zeros(data, 0, pieces), VoiceSettings().max_seconds, pieces)


def frame_ends(data: bytes) -> list[int]:
    """Where frames end: the cuts that nothing in the file tells."""
    return [end for end in range(5, len(data) + 1) if (found := walk(data[:end])) and not found.fault]


def test_a_file_without_a_count_is_read_to_its_last_sample() -> None:
    """libsndfile takes its length from the first frame's bit rate, and would leave out a quarter of this one."""
    whole, bare = read_container(COUNTED), read_container(BARE)
    assert len(whole) == len(samples_of(AUSTEN))
    np.testing.assert_allclose(bare[ENCODER_DELAY:][: len(whole)], whole, atol=1e-4)


@pytest.mark.parametrize("tag", TAGS)
def test_tags_are_no_audio(tag: str) -> None:
    """Neither their bytes nor what looks like frames in them changes a sample, nor seems to be a file cut short."""
    for data in (COUNTED, BARE):
        np.testing.assert_array_equal(read_container(data + TAGS[tag]), read_container(data))
        np.testing.assert_array_equal(read_container(TAGS[tag] + data), read_container(data))


@pytest.mark.parametrize("data", [COUNTED, BARE], ids=["counted", "bare"])
@pytest.mark.parametrize("start", [b"", bytes(1000), bytes(7) + TAGS["ID3v2"] + bytes(100)], ids=["", "zeros", "tag"])
@pytest.mark.parametrize(
    "end",
    [
        bytes(1000),
        TAGS["ID3v1"] + bytes(1000),
        bytes(3000) + TAGS["ID3v1"],
        TAGS["APE"] + bytes(1) + TAGS["ID3v1"],
        b"\n",
        b"\r\n" * 10,
    ],
    ids=["zeros", "tag, zeros", "zeros, tag", "tags", "line end", "line ends"],
)
def test_padding_is_no_damage(start: bytes, data: bytes, end: bytes) -> None:
    """Writers fill up their last block, and scripts add a line end (NeptuneHub/AudioMuse-AI#880, lofty-rs#685)."""
    np.testing.assert_array_equal(read_container(start + data + end), read_container(data))


@pytest.mark.parametrize(
    "end", [b"x" * 5000, b"\xff", b"\xff\xf3", TAGS["ID3v2"][:1000]], ids=["x", "ff", "fff3", "tag"]
)
def test_all_counted_frames_make_a_whole_file(end: bytes) -> None:
    """Whatever follows them is no sound; a file without a count could have lost a frame there."""
    np.testing.assert_array_equal(read_container(COUNTED + end), read_container(COUNTED))
    with pytest.raises(BadMedia, match=r"the MP3 file (holds no MPEG frame|ends in the middle)"):
        read_container(BARE + end)


@pytest.mark.parametrize("junk", [b"\n", b"x" * 5000, bytes(200)], ids=["line end", "x", "zeros"])
def test_frames_behind_junk_are_never_dropped(junk: bytes) -> None:
    """A second file behind the first one's padding would go unheard."""
    for first in (COUNTED, BARE):
        for second in (COUNTED, layer_2(50)):
            with pytest.raises(BadMedia, match=r"the MP3 file holds no MPEG frame at byte \d+"):
                read_container(first + junk + second)


def test_a_frame_that_was_begun_behind_the_counted_ones_is_a_cut() -> None:
    """The count is the first file's; the second one was cut off."""
    with pytest.raises(BadMedia, match="ends in the middle of a frame"):
        read_container(COUNTED + BARE[:50])


@pytest.mark.parametrize("second", [COUNTED, BARE], ids=["counted", "bare"])
@pytest.mark.parametrize("first", [COUNTED, BARE], ids=["counted", "bare"])
def test_files_put_together_are_heard_whole(first: bytes, second: bytes) -> None:
    """The first one's count is not the last word; tags between them are skipped."""
    both = read_container(first + TAGS["ID3v1"] + ID3 + second)
    assert len(both) >= 2 * len(samples_of(AUSTEN))


@pytest.mark.parametrize("data", [COUNTED, BARE], ids=["counted", "bare"])
def test_a_cut_within_a_frame_is_noticed(data: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    """The decoder is not even asked, so it says nothing on standard error."""
    whole = frame_ends(BARE)
    for end in range(3000, len(data), 97):
        if data is COUNTED or end not in whole:
            with pytest.raises(BadMedia, match="voice 1: the MP3 file ends"):
                ContainerReader(data[:end], 1, VoiceSettings())
    assert capfd.readouterr().err == ""


def test_a_cut_between_frames_is_told_by_the_count() -> None:
    """The sentence says how much is missing."""
    end = len(COUNTED) - len(BARE) + frame_ends(BARE[:4000])[-1]
    with pytest.raises(BadMedia, match=r"the MP3 file ends after \d+ of the \d+ frames that its header names"):
        ContainerReader(COUNTED[:end], 1, VoiceSettings())


def test_a_count_that_is_one_too_many_is_no_cut() -> None:
    """Some encoders count the frame that names it."""
    counted = bytearray(COUNTED)
    named = int.from_bytes(counted[COUNT_AT : COUNT_AT + 4], "big")
    counted[COUNT_AT : COUNT_AT + 4] = (named + 1).to_bytes(4, "big")
    np.testing.assert_array_equal(read_container(bytes(counted)), read_container(BARE))


@pytest.mark.parametrize("hole", [bytes(200), b"\xff" * 200, b"ID3" + bytes(197)], ids=["zeros", "ones", "tag"])
def test_damage_in_the_middle_is_named(hole: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    """The decoder would look for the next frame by itself, and write about it where our log is."""
    with pytest.raises(BadMedia, match=r"voice 1: the MP3 file holds no MPEG frame at byte \d+"):
        ContainerReader(BARE[:3000] + hole + BARE[3200:], 1, VoiceSettings())
    assert capfd.readouterr().err == ""


def layer_2(frames: int) -> bytes:
    """Silence in MPEG 1, layer II, at 192 kbit/s and 48 kHz, mono: all that is not allocated is zero."""
    return (b"\xff\xfd\xa4\xc0" + bytes(572)) * frames


def test_layer_2_has_no_count_and_needs_none() -> None:
    """Its bit rate does not change."""
    assert len(read_container(layer_2(50))) == 50 * 1152 // 3
    assert len(read_container(ID3 + layer_2(50))) == 50 * 1152 // 3
    with pytest.raises(BadMedia, match="ends in the middle of a frame"):
        read_container(layer_2(50)[:-1])


def test_frames_of_more_seconds_than_are_taken_are_not_walked() -> None:
    """The smallest frames are 24 bytes, so 64 MiB may hold more than a day."""
    frames = (b"\xff\xf3\x14\xc0" + bytes(20)) * 500
    with pytest.raises(TooLarge, match=r"intake\.voice\.max_seconds allows 10, the input has 11"):
        read_container(frames, VoiceSettings(max_seconds=10))
    assert round(len(read_container(frames, VoiceSettings(max_seconds=12))) / 16_000) == 12


@given(
    st.binary(max_size=300), st.sampled_from([b"", b"ID3\x04\0\0\0\0\0\x05", b"\xff\xfb\x90\0", b"APETAGEX", b"TAG"])
)
@example(b"", b"ID3")
@example(bytes(29), b"TAG")
@example(b"LYRICSBEGIN", b"ID3\x04\0\0\0\0\0\0")
def test_any_bytes_are_frames_or_none(data: bytes, start: bytes) -> None:
    """Whoever walks a peer's bytes comes to an end, and raises nothing."""
    found = walk(start + data)
    assert found is None or found.files or found.fault


@pytest.mark.parametrize("form", ["WAV", "FLAC", "OGG", "AIFF"])
def test_other_containers_are_not_taken_for_it(form: str) -> None:
    """They have their own signs."""
    assert walk(encoded(samples_of(AUSTEN), 16_000, format=form)) is None
