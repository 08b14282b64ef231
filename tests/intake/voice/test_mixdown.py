"""Several channels become one that still says what they said."""

import numpy as np
import pytest
from numpy.typing import NDArray

from headworks.intake.voice.mixdown import Mixdown
from headworks.intake.voice.pcm import Samples
from tests.intake.voice.speech import AUSTEN, encoded, read_container, samples_of

SPEECH = samples_of(AUSTEN)
OTHER = np.roll(SPEECH[::-1], 12_000)


def mix(*channels: Samples) -> Samples:
    return Mixdown(16_000).feed(np.stack(channels, axis=1))


def level(samples: NDArray[np.float32]) -> float:
    return float(np.sqrt(np.square(samples, dtype=np.float64).mean()))


@pytest.mark.parametrize("loudness", [1.0, 0.9, 0.8])
def test_channels_of_opposite_phase_do_not_cancel_out(loudness: float) -> None:
    """A cable with swapped wires makes them, and their average is silence (m-bain/whisperX#750)."""
    np.testing.assert_array_equal(mix(SPEECH, -loudness * SPEECH), SPEECH)
    np.testing.assert_array_equal(mix(-loudness / 2 * SPEECH, loudness / 2 * SPEECH), -loudness / 2 * SPEECH)


def test_a_file_of_opposite_phase_is_the_speech() -> None:
    """Through the whole reader."""
    data = encoded(np.stack((SPEECH, -SPEECH), axis=1), 16_000, format="WAV", subtype="FLOAT")
    np.testing.assert_allclose(read_container(data), SPEECH, atol=1e-6)


@pytest.mark.parametrize("silent", [1, 3, 7])
def test_silent_channels_change_nothing(silent: int) -> None:
    """One microphone of eight is averaged like all; only its loudness falls."""
    channels = [SPEECH, *[np.zeros_like(SPEECH)] * silent]
    np.testing.assert_allclose(mix(*channels), SPEECH / (silent + 1), rtol=1e-5)


def test_two_speakers_on_two_channels_are_both_heard() -> None:
    """A telephone call has one on each; six more channels may be silent."""
    for silent in (0, 6):
        channels = [SPEECH, OTHER, *[np.zeros_like(SPEECH)] * silent]
        np.testing.assert_allclose(mix(*channels), (SPEECH + OTHER) / len(channels), atol=1e-6)


def test_speech_in_the_middle_is_kept_under_music_of_opposite_phase() -> None:
    """The average takes such music away; only where it would leave next to nothing is a channel taken instead."""
    speech, music = np.random.default_rng(0).normal(0, 0.1, (2, 48_000)).astype(np.float32)
    np.testing.assert_allclose(mix(speech + 3 * music, speech - 3 * music), speech, atol=1e-6)
    np.testing.assert_array_equal(mix(speech + 9 * music, speech - 9 * music), speech + 9 * music)


def test_a_second_that_cancels_is_mended_though_the_others_do_not() -> None:
    """The choice is made for each second, counted from the file's first sample."""
    right = SPEECH.copy()
    right[16_000:32_000] *= -1
    np.testing.assert_allclose(mix(SPEECH, right), SPEECH, atol=1e-6)


def test_equal_channels_do_not_take_turns() -> None:
    """From one to the other the sound would change its sign, which is a click."""
    sign = np.repeat([1.01, 0.99, 1.01, 0.99], 16_000)[: len(SPEECH)].astype(np.float32)
    np.testing.assert_array_equal(mix(SPEECH, -SPEECH * sign), SPEECH)


def test_silence_stays_silence() -> None:
    """Nothing is divided by nothing."""
    assert level(mix(np.zeros(40_000, np.float32), np.zeros(40_000, np.float32))) == 0.0
