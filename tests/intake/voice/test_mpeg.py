"""MP3 files with and without a count of their frames, whole, cut, tagged and put together."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headworks.intake.errors import BadMedia
from headworks.intake.voice.container import ContainerReader
from headworks.intake.voice.mpeg import read_frames
from headworks.intake.voice.pcm import Samples
from headworks.intake.voice.settings import VoiceSettings
from tests.intake.voice.speech import AUSTEN, encoded, samples_of

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


def read(data: bytes) -> Samples:
    """Decode a whole file."""
    reader, blocks = ContainerReader(data, 1, VoiceSettings()), []
    while not reader.is_over:
        blocks.append(reader.read()[0])
    return np.concatenate(blocks)


def frame_ends(data: bytes) -> list[int]:
    """Where frames end: the cuts that nothing in the file tells."""
    return [end for end in range(5, len(data) + 1) if (found := read_frames(data[:end])) and not found.fault]


def test_a_file_without_a_count_is_read_to_its_last_sample() -> None:
    """libsndfile takes its length from the first frame's bit rate, and would leave out a quarter of this one."""
    whole, bare = read(COUNTED), read(BARE)
    assert len(whole) == len(samples_of(AUSTEN))
    np.testing.assert_allclose(bare[ENCODER_DELAY:][: len(whole)], whole, atol=1e-4)


@pytest.mark.parametrize("tag", TAGS)
def test_tags_are_no_audio(tag: str) -> None:
    """Neither their bytes nor what looks like frames in them changes a sample, nor seems to be a file cut short."""
    for data in (COUNTED, BARE):
        np.testing.assert_array_equal(read(data + TAGS[tag]), read(data))
        np.testing.assert_array_equal(read(TAGS[tag] + data), read(data))


def test_padding_at_the_end_is_no_damage() -> None:
    """Some writers fill their last block up."""
    np.testing.assert_array_equal(read(BARE + TAGS["ID3v1"] + bytes(1000)), read(BARE))


@pytest.mark.parametrize("second", [COUNTED, BARE], ids=["counted", "bare"])
@pytest.mark.parametrize("first", [COUNTED, BARE], ids=["counted", "bare"])
def test_files_put_together_are_heard_whole(first: bytes, second: bytes) -> None:
    """The first one's count is not the last word; tags between them are skipped."""
    both = read(first + TAGS["ID3v1"] + ID3 + second)
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
    np.testing.assert_array_equal(read(bytes(counted)), read(BARE))


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
    assert len(read(layer_2(50))) == 50 * 1152 // 3
    assert len(read(ID3 + layer_2(50))) == 50 * 1152 // 3
    with pytest.raises(BadMedia, match="ends in the middle of a frame"):
        read(layer_2(50)[:-1])


@given(
    st.binary(max_size=300), st.sampled_from([b"", b"ID3\x04\0\0\0\0\0\x05", b"\xff\xfb\x90\0", b"APETAGEX", b"TAG"])
)
@example(b"", b"ID3")
@example(bytes(29), b"TAG")
@example(b"LYRICSBEGIN", b"ID3\x04\0\0\0\0\0\0")
def test_any_bytes_are_frames_or_none(data: bytes, start: bytes) -> None:
    """Whoever walks a peer's bytes comes to an end, and raises nothing."""
    found = read_frames(start + data)
    assert found is None or found.data


@pytest.mark.parametrize("form", ["WAV", "FLAC", "OGG", "AIFF"])
def test_other_containers_are_not_taken_for_it(form: str) -> None:
    """They have their own signs."""
    assert read_frames(encoded(samples_of(AUSTEN), 16_000, format=form)) is None
