"""The parts of voice that need no model."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.intake.errors import BadMedia
from headworks.intake.voice.endpoint import Endpointer, Utterance
from headworks.intake.voice.form import EndpointSettings
from headworks.intake.voice.mel import WINDOW_SAMPLES, log_mel
from headworks.intake.voice.pcm import Linear16Decoder, WindowCutter
from tests.intake.voice.speech import AUSTEN, samples_of
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
