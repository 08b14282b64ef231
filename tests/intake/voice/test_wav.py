"""WAV files as writers leave them that cannot go back to the header, whole, cut and put together."""

import numpy as np
import pytest

from headworks.intake.errors import BadMedia
from tests.intake.voice.speech import AUSTEN, encoded, read_container, samples_of

WHOLE = AUSTEN.read_bytes()
DATA_SIZE_AT = WHOLE.index(b"data") + 4
SAMPLES_AT = DATA_SIZE_AT + 4
RF64 = encoded(samples_of(AUSTEN), 16_000, format="RF64")
PLACEHOLDERS = [0, 0xFFFFFFFF, 0xFFFFFFFF - 36, 0x7FFFFFFF, 0x7FFFFFFF - 36, 0x7FFFF000, 0x80000000, 0xFFFFFFFE]


def chunk(name: bytes, body: bytes, size: int | None = None) -> bytes:
    return name + (len(body) if size is None else size).to_bytes(4, "little") + body


def wav(*chunks: bytes, magic: bytes = b"RIFF") -> bytes:
    return chunk(magic, b"WAVE" + b"".join(chunks))


FORMAT = WHOLE[12:36]
SAMPLES = WHOLE[SAMPLES_AT:]


def streamed(size: int, samples: bytes = SAMPLES, fmt: bytes = FORMAT) -> bytes:
    """A file as ffmpeg writes it into a pipe."""
    return b"RIFF" + size.to_bytes(4, "little") + b"WAVE" + fmt + chunk(b"data", samples, size)


@pytest.mark.parametrize("size", PLACEHOLDERS)
def test_size_that_was_never_filled_in_means_to_the_end(size: int) -> None:
    """Writers into a pipe leave it: ffmpeg, sox, espeak-ng, arecord (ruuda/hound#39, Borewit/music-metadata#707)."""
    np.testing.assert_array_equal(read_container(streamed(size)), read_container(WHOLE))


@pytest.mark.parametrize("size", PLACEHOLDERS)
def test_streamed_file_that_ends_in_a_sample_is_cut(size: int) -> None:
    """It is the only sign that such a file can give."""
    with pytest.raises(BadMedia, match="voice 1: the WAV file ends in the middle of a sample"):
        read_container(streamed(size, SAMPLES[:-1]))


def test_odd_number_of_streamed_bytes_may_be_filled_up() -> None:
    """A chunk has an even length; a file of 24-bit or 8-bit samples may be a byte longer than these are."""
    fmt = chunk(b"fmt ", bytes((1, 0, 1, 0, 0x80, 0x3E, 0, 0, 0x80, 0xBB, 0, 0, 3, 0, 24, 0)))
    assert len(read_container(streamed(0xFFFFFFFF, bytes(3 * 16_001) + b"\0", fmt))) == 16_001
    with pytest.raises(BadMedia, match="ends in the middle of a sample"):
        read_container(streamed(0xFFFFFFFF, bytes(3 * 16_001 + 2), fmt))


@pytest.mark.parametrize("size", [1, 36, 0x7F000000, 0x80000002, 0xFFFEFFFF])
def test_size_that_no_writer_leaves_is_a_cut(size: int) -> None:
    """A header that names more than is there was true once."""
    with pytest.raises(BadMedia, match="voice 1: the WAV file ends before the last sample that its header names"):
        read_container(streamed(len(SAMPLES) + size if size < 100 else size))


@pytest.mark.parametrize("after", [b"", chunk(b"LIST", b"INFO"), chunk(b"LIST", b"INFOx") + b"\0"])
def test_size_of_nothing_is_nothing_when_chunks_follow(after: bytes) -> None:
    """A recording that was stopped at once has no samples, and its tags are none."""
    with pytest.raises(BadMedia, match="voice 1: the WAV file holds no samples"):
        read_container(wav(FORMAT, chunk(b"data", b""), after))


@pytest.mark.parametrize("magic", [b"RF64", b"BW64"])
def test_file_with_long_sizes_is_read(magic: bytes) -> None:
    """Recorders write them for all lengths; the sizes lie in a chunk of their own."""
    np.testing.assert_array_equal(read_container(magic + RF64[4:]), read_container(WHOLE))
    with pytest.raises(BadMedia, match="the WAV file ends before the last sample"):
        read_container(magic + RF64[4:-2])


@pytest.mark.parametrize("size", [0, 2**64 - 1])
def test_long_size_that_was_never_filled_in_means_to_the_end(size: int) -> None:
    """The same writers, with the longer header."""
    sizes = chunk(b"ds64", bytes(8) + size.to_bytes(8, "little") + bytes(12))
    data = wav(sizes, FORMAT, chunk(b"data", SAMPLES, 0xFFFFFFFF), magic=b"RF64")
    np.testing.assert_array_equal(read_container(data), read_container(WHOLE))


@pytest.mark.parametrize(
    "data",
    [
        wav(chunk(b"JUNK", bytes(28)), FORMAT, chunk(b"LIST", b"INFOx") + b"\0", chunk(b"data", SAMPLES)),
        wav(FORMAT, chunk(b"LIST", b"INFOx"), chunk(b"data", SAMPLES)),
        wav(FORMAT, chunk(b"data", SAMPLES), chunk(b"LIST", b"INFO cut", 100)),
        wav(FORMAT, chunk(b"data", SAMPLES)) + b"\n",
        b"ID3\x04\0\0\0\0\0\x05hello" + WHOLE,
        encoded(samples_of(AUSTEN), 16_000, format="WAV", endian="BIG"),
        encoded(samples_of(AUSTEN), 16_000, format="WAVEX"),
    ],
    ids=["chunks", "chunk not filled up", "cut tag behind", "line end behind", "tag before", "RIFX", "extensible"],
)
def test_what_is_no_sample_changes_none(data: bytes) -> None:
    """All samples that the header counts are there."""
    np.testing.assert_array_equal(read_container(data), read_container(WHOLE))


@pytest.mark.parametrize("subtype", ["ULAW", "ALAW", "IMA_ADPCM", "MS_ADPCM", "GSM610", "PCM_U8", "PCM_24", "DOUBLE"])
def test_coded_samples_keep_their_format(subtype: str) -> None:
    """Telephone systems write them. The decoder is given a header of ours, with the file's own format."""
    samples = samples_of(AUSTEN)
    heard = read_container(encoded(samples, 16_000, format="WAV", subtype=subtype))[: len(samples)]
    assert np.corrcoef(heard, samples)[0, 1] > 0.95


@pytest.mark.parametrize("size", [len(SAMPLES), 0, 0xFFFFFFFF])
def test_files_put_together_are_heard_whole(size: int) -> None:
    """As a service of speech sends it that answers in pieces, each a file."""
    stereo = encoded(np.stack([samples_of(AUSTEN)] * 2, axis=1), 16_000, format="WAV")
    both = read_container(streamed(size) + stereo)
    np.testing.assert_array_equal(both, np.concatenate([read_container(WHOLE)] * 2))
    with pytest.raises(BadMedia, match="the WAV file ends before"):
        read_container(streamed(size) + stereo[:-1])


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (wav(FORMAT, chunk(b"data", SAMPLES), chunk(b"data", SAMPLES)), "holds samples in two places"),
        (wav(chunk(b"data", SAMPLES), FORMAT), "names no format before its samples"),
        (wav(FORMAT), "ends before its samples begin"),
        (WHOLE[:12], "ends before its samples begin"),
    ],
)
def test_header_of_another_shape_is_refused_by_what_it_lacks(data: bytes, what: str) -> None:
    """No part of it is heard in silence."""
    with pytest.raises(BadMedia, match=f"voice 1: the WAV file {what}"):
        read_container(data)
