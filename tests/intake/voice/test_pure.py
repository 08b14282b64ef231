"""The parts of voice that need no model."""

import itertools

import numpy as np
import pytest
import soxr
from hypothesis import given
from hypothesis import strategies as st

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.voice.container import ContainerReader
from headworks.intake.voice.endpoint import Endpointer, Utterance
from headworks.intake.voice.linear16 import Linear16Reader
from headworks.intake.voice.mel import WINDOW_SAMPLES, log_mel
from headworks.intake.voice.pcm import Linear16Decoder, WindowCutter
from headworks.intake.voice.settings import EndpointSettings, VoiceSettings
from tests.intake.voice.speech import AUSTEN, encoded, linear16, samples_of
from tests.strategies import cut_bytes

MEL_TOLERANCE = 1e-4
SETTINGS = EndpointSettings(min_silence_milliseconds=96, min_speech_milliseconds=64, max_utterance_seconds=1)


@given(data=st.data(), whole=st.binary(max_size=400).map(lambda raw: raw[: len(raw) // 2 * 2]))
def test_samples_and_windows_do_not_depend_on_cuts(data: st.DataObject, whole: bytes) -> None:
    """The network cuts where it likes."""
    expected = np.frombuffer(whole, "<i2").astype(np.float32) / 32768
    decoder, cutter = Linear16Decoder(1), WindowCutter(16)
    windows = [cutter.feed(decoder.feed(chunk)) for chunk in data.draw(cut_bytes(whole))]
    decoder.finish()
    got = np.concatenate([*windows, cutter.finish()])
    assert len(got) == -(-len(expected) // 16)
    np.testing.assert_array_equal(got.reshape(-1)[: len(expected)], expected)


def test_half_a_sample_at_the_end_is_bad_media() -> None:
    """The sender cut or lost a byte; every sample after it would be noise."""
    decoder = Linear16Decoder(3)
    decoder.feed(b"\0\0\0")
    with pytest.raises(BadMedia, match="voice 3"):
        decoder.finish()


@pytest.mark.parametrize("rate", [8_000, 16_000, 44_100, 48_000])
@given(data=st.data())
def test_resampled_stream_does_not_depend_on_cuts(data: st.DataObject, rate: int) -> None:
    """Bit for bit: soxr keeps its state over the cuts, and half samples wait for their other half."""
    raw = linear16(samples_of(AUSTEN)[16_000:16_800])
    whole = Linear16Reader(1, rate, VoiceSettings())
    cut = Linear16Reader(1, rate, VoiceSettings())
    expected = [whole.take(raw)[0], whole.finish()[0]]
    got = [cut.take(chunk)[0] for chunk in data.draw(cut_bytes(raw))]
    np.testing.assert_array_equal(np.concatenate([*got, cut.finish()[0]]), np.concatenate(expected))


@pytest.mark.parametrize("rate", [0, -1, 3_999, 10**9])
def test_rate_that_no_audio_has_is_bad_media(rate: int) -> None:
    """soxr would ask for memory without end, or divide by nothing."""
    with pytest.raises(BadMedia, match="voice 2"):
        Linear16Reader(2, rate, VoiceSettings())


def test_stream_without_a_sample_is_bad_media() -> None:
    """Somebody's microphone never opened; that is not silence."""
    reader = Linear16Reader(2, 16_000, VoiceSettings())
    reader.take(b"")
    with pytest.raises(BadMedia, match="voice 2: the audio is empty"):
        reader.finish()


def test_numbers_that_are_no_loudness_are_tamed() -> None:
    """A float WAV may hold anything; one NaN in the resampler would silence all that follows."""
    samples = samples_of(AUSTEN)[:16_000].copy()
    samples[100:103] = np.nan, np.inf, -3e38
    read, is_over = ContainerReader(encoded(samples, 16_000, format="WAV", subtype="FLOAT"), 1, VoiceSettings()).read()
    assert is_over
    assert np.isfinite(read).all()
    assert np.abs(read).max() <= 1.0


def test_header_alone_tells_that_a_file_is_too_long() -> None:
    """Silence packs a thousandfold, so the file's size says nothing."""
    flac = encoded(np.zeros((16_000 * 12, 8), np.float32), 16_000, format="FLAC")
    with pytest.raises(TooLarge, match="max_seconds allows 11, the input has 12"):
        ContainerReader(flac, 1, VoiceSettings(max_seconds=11))


def test_blocks_of_a_file_put_together_are_the_whole_file() -> None:
    """A long file is never decoded at once, and nothing is lost between its blocks."""
    samples = np.random.default_rng(0).normal(0, 0.1, 44_100 * 10).astype(np.float32)
    reader = ContainerReader(encoded(samples, 44_100, format="WAV", subtype="FLOAT"), 1, VoiceSettings())
    blocks = []
    while not reader.is_over:
        blocks.append(reader.read()[0])
    assert len(blocks) == 3
    np.testing.assert_array_equal(np.concatenate(blocks), soxr.resample(np.clip(samples, -1, 1), 44_100, 16_000))


def test_utterance_that_whisper_cannot_hear_whole_is_no_setting() -> None:
    """What is over 30 s would be dropped in silence."""
    with pytest.raises(ValueError, match="max_utterance_seconds"):
        EndpointSettings(max_utterance_seconds=30)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("padded", [WINDOW_SAMPLES, 16_000 * 13])
def test_log_mel_equals_whispers_own(padded: int) -> None:
    """Whisper's decoder knows no other spectrogram; the tolerance is a tenth of what float16 would lose."""
    whisper = pytest.importorskip("whisper")
    samples = samples_of(AUSTEN)
    expected = whisper.log_mel_spectrogram(np.pad(samples, (0, padded - len(samples)))).numpy()
    filters = whisper.audio.mel_filters("cpu", 80).numpy()
    np.testing.assert_allclose(log_mel(samples, filters, padded)[0], expected, atol=MEL_TOLERANCE)


def utterances(probabilities: list[float]) -> list[Utterance]:
    endpointer = Endpointer(SETTINGS)
    found = [endpointer.feed(probability) for probability in probabilities]
    return [one for one in [*found, endpointer.finish()] if one is not None]


def test_silence_ends_an_utterance_and_breath_does_not() -> None:
    """Three windows of silence end it here, two do not."""
    assert utterances([0.0, 0.9, 0.9, 0.1, 0.1, 0.9, 0.1, 0.1, 0.1, 0.9, 0.9]) == [Utterance(1, 6), Utterance(9, 11)]


def test_click_is_no_utterance() -> None:
    """One window of noise would be given words."""
    assert utterances([0.9, 0.0, 0.0, 0.0, 0.0]) == []


def test_endless_speech_is_cut_at_its_quietest_late_window() -> None:
    """Whisper hears 30 s; nothing may be lost or heard twice at the cut."""
    probabilities = [0.9] * 80
    probabilities[22] = 0.6
    found = utterances(probabilities)
    assert found[0] == Utterance(0, 22)
    assert all(one.end_window == other.start_window for one, other in itertools.pairwise(found))
    assert found[-1].end_window == 80
