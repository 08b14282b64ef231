"""Which words are believed: openai-whisper's three guards against words that nobody said."""

import numpy as np
import pytest

from headworks.intake.voice.encoding import AudioEncoding, VoiceForm
from headworks.intake.voice.pcm import Samples
from headworks.intake.voice.preprocessor import VoiceModels
from headworks.intake.voice.settings import VoiceSettings
from headworks.intake.work import WorkPool
from tests.intake.voice.speech import (
    AUSTEN,
    QUESTION,
    QUESTION_FILE,
    RecordingWhisper,
    finals,
    hear,
    linear16,
    samples_of,
    transcript,
)

pytestmark = pytest.mark.models
STREAM = VoiceForm(AudioEncoding.LINEAR16, 16_000)


@pytest.mark.parametrize("level", [0.0, 0.001, 0.1])
async def test_silence_has_no_words(models: VoiceModels, pool: WorkPool, level: float) -> None:
    """Whisper invents text for silence, so it is never asked (whisper.cpp#1724, Rapid-MLX#960)."""
    noise = np.random.default_rng(0).normal(0, 1, 12 * 16_000).astype(np.float32) * level
    assert await hear(models, pool, linear16(noise), STREAM) == []


@pytest.mark.parametrize("seed", [0, 1, 2])
async def test_sound_of_a_voice_that_says_nothing_has_no_words(models: VoiceModels, pool: WorkPool, seed: int) -> None:
    """Speech in pieces of 50 ms, shuffled: the VAD lets it through, and Whisper alone would give it words.

    See whisper.cpp#1724.
    """
    samples = samples_of(AUSTEN)
    pieces = samples[: len(samples) // 800 * 800].reshape(-1, 800)
    scattered = linear16(np.random.default_rng(seed).permutation(pieces).reshape(-1))
    unguarded = VoiceSettings(no_speech_probability=1.0)
    assert finals(await hear(models, pool, scattered, STREAM, settings=unguarded))
    assert await hear(models, pool, scattered, STREAM) == []


@pytest.mark.parametrize(
    ("no_speech", "mean_log", "is_kept"),
    [(0.6, -9.0, True), (0.61, -1.0, False), (0.61, -0.99, True), (0.99, -0.1, True), (0.0, -9.0, True)],
)
async def test_words_are_dropped_only_when_both_speak_against_them(
    models: VoiceModels, pool: WorkPool, no_speech: float, mean_log: float, is_kept: bool
) -> None:
    """As whisper.transcribe weighs it: sure words were said, however odd the sound before them."""
    deaf = VoiceModels(
        models.vad, RecordingWhisper(transcript(mean_log_probability=mean_log, no_speech_probability=no_speech))
    )  # type: ignore[arg-type]
    heard = await hear(deaf, pool, QUESTION_FILE.read_bytes())
    assert bool(heard) is is_kept


def loud(samples: Samples) -> Samples:
    """The samples without the silence around them."""
    found = np.flatnonzero(np.abs(samples) > 0.02)
    return samples[found[0] : found[-1]]


async def test_loop_of_the_decoder_has_no_words(models: VoiceModels, pool: WorkPool) -> None:
    """One word, said over and over, is heard without end, at a confidence that grows with each repetition.

    Fast speech does the same (RisorseArtificiali/anti-vocale#74), and it would fill the model's prompt.
    """
    sound = linear16(np.tile(loud(samples_of(AUSTEN))[-9600:], 12))
    unguarded = await hear(models, pool, sound, STREAM, settings=VoiceSettings(max_compression_ratio=100))
    assert len(finals(unguarded)[0].split()) > 200
    assert unguarded[0].confidence > 0.7
    assert await hear(models, pool, sound, STREAM) == []


async def test_words_that_were_repeated_are_heard_at_a_lower_confidence(models: VoiceModels, pool: WorkPool) -> None:
    """Whisper finds their end, so they may have been said so."""
    once = loud(samples_of(QUESTION_FILE))
    (single,) = await hear(models, pool, linear16(once), STREAM)
    (repeated,) = await hear(models, pool, linear16(np.tile(once, 4)), STREAM)
    assert repeated.transcript == " ".join([QUESTION] * 4)
    assert repeated.confidence < single.confidence - 0.1


@pytest.mark.parametrize(
    ("times", "is_ended", "confidence"),
    [(1, True, 0.8), (4, True, 0.8), (20, True, 0.274), (200, True, None), (1, False, 0.8), (20, False, None)],
)
async def test_words_are_a_loop_when_they_repeat_and_do_not_end(
    models: VoiceModels, pool: WorkPool, times: int, is_ended: bool, confidence: float | None
) -> None:
    """Neither alone is a sign: long speech runs out of tokens, and people repeat themselves. They do not do it so often
    in 30 s that a word fills them 200 times."""
    repeated = transcript(" ".join(["young"] * times), is_ended=is_ended)
    deaf = VoiceModels(models.vad, RecordingWhisper(repeated))  # type: ignore[arg-type]
    heard = await hear(deaf, pool, QUESTION_FILE.read_bytes())
    assert [one.confidence for one in heard] == ([] if confidence is None else [pytest.approx(confidence, abs=1e-3)])
