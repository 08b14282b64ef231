"""FLAC files without a length, whole, cut and put together."""

import numpy as np
import pytest

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.voice.settings import VoiceSettings
from tests.intake.voice.speech import AUSTEN, encoded, read_container, samples_of

WHOLE = encoded(samples_of(AUSTEN), 16_000, format="FLAC")
TAG = b"TAG" + bytes(125)


def without_length(flac: bytes) -> bytes:
    """The file as it is when it was written into a pipe: nobody went back to the header."""
    return flac[:21] + bytes((flac[21] & 0xF0,)) + bytes(4) + flac[26:]


@pytest.mark.parametrize(
    ("rate", "channels", "subtype"),
    [(16_000, 1, "PCM_16"), (44_100, 2, "PCM_24"), (8_000, 1, "PCM_S8"), (48_000, 1, "PCM_16"), (22_050, 8, "PCM_16")],
)
@pytest.mark.parametrize("length", [1, 4095, 4096, 4097, 49_000, 600_000])
def test_length_is_told_by_the_last_frame(rate: int, channels: int, subtype: str, length: int) -> None:
    """Where the header tells none, as after ffmpeg -f flac - (Borewit/music-metadata#543)."""
    samples = np.random.default_rng(0).normal(0, 0.1, (length, channels)).astype(np.float32)
    flac = encoded(samples, rate, format="FLAC", subtype=subtype)
    np.testing.assert_array_equal(read_container(without_length(flac)), read_container(flac))


def test_sizes_of_frames_may_vary() -> None:
    """Then frames count samples, and not each other: these are written by hand, each a constant of 16-bit silence."""
    frames, at = b"", 0
    for size_code, samples in ((0x8, 256), (0xA, 1024), (0x9, 512)):
        number = bytes((at,)) if at < 128 else bytes((0xC0 | at >> 6, 0x80 | at & 0x3F))
        head = b"\xff\xf9" + bytes((size_code << 4 | 5, 0x08)) + number
        head += bytes((crc(head, 8, 0x07),))
        body = head + bytes((0, 0, 0))
        frames += body + crc(body, 16, 0x8005).to_bytes(2, "big")
        at += samples
    info = bytes((1, 0, 4, 0)) + bytes(6) + bytes((0x03, 0xE8, 0x00, 0xF0, 0, 0, 0, 0)) + bytes(16)
    flac = b"fLaC\x80\0\0\x22" + info + frames
    assert len(read_container(flac)) == 256 + 1024 + 512


def crc(data: bytes, bits: int, polynomial: int) -> int:
    value = 0
    for byte in data:
        value ^= byte << bits - 8
        for _ in range(8):
            value = (value << 1 ^ polynomial if value >> bits - 1 else value << 1) & (1 << bits) - 1
    return value


@pytest.mark.parametrize("missing", [1, 100, 5000])
def test_file_without_a_length_that_ends_in_a_frame_is_cut(missing: int) -> None:
    """The frame that was begun says what it would have held."""
    with pytest.raises(BadMedia, match="voice 1"):
        read_container(without_length(WHOLE)[:-missing])


def test_file_without_a_length_is_still_too_long() -> None:
    """The limit is held before anything is decoded."""
    flac = without_length(encoded(np.zeros(16_000 * 12, np.float32), 16_000, format="FLAC"))
    with pytest.raises(TooLarge, match="max_seconds allows 11, the input has 12"):
        read_container(flac, VoiceSettings(max_seconds=11))


@pytest.mark.parametrize("flac", [WHOLE, without_length(WHOLE)], ids=["length", "no length"])
@pytest.mark.parametrize("end", [b"\n", bytes(1000), TAG, bytes(100) + TAG], ids=["line end", "zeros", "tag", "both"])
def test_what_follows_the_last_frame_is_no_sound(flac: bytes, end: bytes) -> None:
    """All samples are there, by the header or by the last frame."""
    np.testing.assert_array_equal(read_container(flac + end), read_container(WHOLE))


@pytest.mark.parametrize("flac", [WHOLE, without_length(WHOLE)], ids=["length", "no length"])
def test_files_put_together_are_heard_whole(flac: bytes) -> None:
    """The decoder alone stops after the first. Each file's length is told by its own frames."""
    longer = encoded(np.tile(samples_of(AUSTEN), 2), 16_000, format="FLAC")
    both = read_container(flac + TAG + without_length(longer))
    np.testing.assert_array_equal(both, np.concatenate((read_container(WHOLE), read_container(longer))))
    with pytest.raises(BadMedia, match="voice 1"):
        read_container(flac + longer[:-100])


def test_what_looks_like_a_frame_of_another_rate_is_none() -> None:
    """The sign that a frame begins with may lie within another one, and one CRC of 256 fits by chance."""
    other = encoded(np.zeros(48_000, np.float32), 48_000, format="FLAC")
    frame = other[other.rindex(b"\xff\xf8") :]
    np.testing.assert_array_equal(read_container(without_length(WHOLE) + frame), read_container(WHOLE))


@pytest.mark.parametrize("end", [8, 30, 42, 60])
def test_file_that_ends_in_its_metadata_is_refused(end: int) -> None:
    """There is nothing to hear."""
    with pytest.raises(BadMedia, match="voice 1: the FLAC file ends in its metadata"):
        read_container(WHOLE[:end])


def test_file_without_a_length_or_a_frame_is_refused() -> None:
    """Nothing tells how long it is."""
    with pytest.raises(BadMedia, match="voice 1: the FLAC file names no length, and no frame tells it"):
        read_container(b"fLaC\x80\0\0\x22" + without_length(WHOLE)[8:42])
