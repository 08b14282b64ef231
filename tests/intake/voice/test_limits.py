"""What may be skipped in a container is bounded by a count, and is no matter otherwise."""

import numpy as np
import pytest

from headworks.intake.errors import TooLarge
from headworks.intake.voice.settings import VoiceSettings
from tests.intake.voice.speech import AUSTEN, encoded, read_container, samples_of

MANY = 500
SAMPLES = samples_of(AUSTEN)
WAV = encoded(SAMPLES, 16_000, format="WAV")
FLAC = encoded(SAMPLES, 16_000, format="FLAC")
MP3 = encoded(SAMPLES, 16_000, format="MP3")
OGG = encoded(SAMPLES, 16_000, format="OGG", subtype="OPUS")
EMPTY_ID3 = b"ID3\x04\0\0\0\0\0\0"


def no_length(flac: bytes) -> bytes:
    return flac[:21] + bytes((flac[21] & 0xF0,)) + bytes(4) + flac[26:]


SKIPPED = {
    "tags before MP3": (EMPTY_ID3 * MANY + MP3, MP3),
    "tags before WAV": (EMPTY_ID3 * MANY + WAV, WAV),
    "tags behind MP3": (MP3 + EMPTY_ID3 * MANY, MP3),
    "tags and zeros": ((b"TAG" + bytes(126)) * MANY + MP3, MP3),
    "lyrics": (b"LYRICSBEGINLYRICSEND" * MANY + MP3, MP3),
    "signs of frames behind MP3": (MP3 + b"\xff\xf3" * MANY, MP3),
    "chunks": (WAV[:12] + b"JUNK\0\0\0\0" * MANY + WAV[12:], WAV),
    "blocks": (FLAC[:4] + b"\0" + FLAC[5:42] + b"\1\0\0\0" * MANY + FLAC[42:], FLAC),
    "signs of frames behind FLAC": (no_length(FLAC) + b"\xff\xf8" * MANY, FLAC),
}


@pytest.mark.parametrize("name", SKIPPED)
def test_pieces_without_sound_are_skipped_up_to_a_limit(name: str) -> None:
    """Empty ones of ten bytes would hold the only voice thread for seconds, and cost their sender nothing."""
    data, plain = SKIPPED[name]
    np.testing.assert_array_equal(read_container(data), read_container(plain))
    with pytest.raises(TooLarge, match=rf"intake\.voice\.max_container_pieces allows {MANY - 1}, the input has {MANY}"):
        read_container(data, VoiceSettings(max_container_pieces=MANY - 1))


def test_pages_have_the_same_limit() -> None:
    """Each is checked before the decoder gets it."""
    with pytest.raises(TooLarge, match=r"intake\.voice\.max_container_pieces allows 3, the input has 4"):
        read_container(OGG, VoiceSettings(max_container_pieces=3))


@pytest.mark.parametrize("data", [WAV, FLAC, MP3], ids=["WAV", "FLAC", "MP3"])
def test_long_pieces_cost_no_more_than_short_ones(data: bytes) -> None:
    """A picture of a cover is one piece, whatever its size."""
    tag = b"ID3\x04\0\0" + bytes((1, 0, 0, 0)) + bytes(1 << 21)
    settings = VoiceSettings(max_container_pieces=5)
    np.testing.assert_array_equal(read_container(tag + data, settings), read_container(data))


def test_limit_on_bytes_stays_within_what_a_wav_can_name() -> None:
    """The decoder is given a file with a header of ours."""
    with pytest.raises(ValueError, match="max_bytes must not be over 2147483648"):
        VoiceSettings(max_bytes=2**31 + 1)
