"""Real-time factor of voice: milliseconds of work a second of audio, beside PyTorch's Whisper called directly.

1000 ms/s is as fast as one speaks. `measure_voice` returns rows for `bench/intake.py`; run alone, this prints them.
"""

import argparse
import asyncio
import io
import statistics
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import soundfile

from bench.image_and_table import CHUNK_BYTES, Measured
from headworks.intake.build.whisper.recipe import packaged_model
from headworks.intake.models.store import ModelStore
from headworks.intake.onnx.settings import OnnxSettings
from headworks.intake.voice.encoding import SAMPLE_RATE_HERTZ, AudioEncoding, VoiceForm
from headworks.intake.voice.preprocessor import VoiceModels, VoicePreprocessor
from headworks.intake.voice.settings import VoiceSettings
from headworks.intake.work import WorkPool, WorkSettings

if TYPE_CHECKING:
    from headworks.intake.voice.pcm import Samples

UNIT = "ms/s"
_SENTENCES = 4
_PAUSE_SECONDS = 1
_LINEAR16 = VoiceForm(AudioEncoding.LINEAR16, SAMPLE_RATE_HERTZ)


def measure_voice(store: ModelStore, repeats: int) -> list[Measured]:
    """The demo question as FLAC and as raw PCM, and four of it with pauses between them.

    PyTorch's Whisper with the same weights and as many threads is the ceiling: it reads the same file and decodes
    each sentence in its own 30 s window, without VAD, resampling or cutting, which ours has to do.
    """
    import torch

    settings = OnnxSettings()
    models, model = VoiceModels.load(store, settings), packaged_model()
    torch.set_num_threads(settings.intra_op_threads)
    question = (resources.files("headworks.server.cli.demo") / "question.flac").read_bytes()
    samples, _ = soundfile.read(io.BytesIO(question), dtype="float32")
    sentences = np.concatenate([samples, np.zeros(_PAUSE_SECONDS * SAMPLE_RATE_HERTZ, np.float32)] * _SENTENCES)
    cases: list[tuple[str, bytes, VoiceForm, int]] = [
        ("question, FLAC", question, VoiceForm(), 1),
        ("question, PCM", _linear16(samples), _LINEAR16, 1),
        (f"{_SENTENCES} questions, PCM", _linear16(sentences), _LINEAR16, _SENTENCES),
    ]
    pool = WorkPool("voice", WorkSettings())
    rows = []
    for name, data, form, count in cases:
        seconds = len(sentences if count > 1 else samples) / SAMPLE_RATE_HERTZ
        ours, direct = _medians(
            partial(_hear, models, pool, data, form), partial(_pytorch, model, question, count), repeats
        )
        rows.append(Measured(f"{name} {seconds:.1f} s", ours / seconds, direct / seconds, UNIT))
    pool.close()
    return rows


def _hear(models: VoiceModels, pool: WorkPool, data: bytes, form: VoiceForm) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(data), CHUNK_BYTES):
            yield data[start : start + CHUNK_BYTES]

    async def run() -> None:
        async for _ in VoicePreprocessor(1, models, pool, form, VoiceSettings()).process(chunks()):
            pass

    asyncio.run(run())


def _pytorch(model: object, data: bytes, count: int) -> None:
    import whisper

    for _ in range(count):
        samples, _ = soundfile.read(io.BytesIO(data), dtype="float32")
        mel = whisper.log_mel_spectrogram(whisper.pad_or_trim(samples))
        whisper.decode(model, mel, whisper.DecodingOptions(language="en", without_timestamps=True, fp16=False))


def _linear16(samples: "Samples") -> bytes:
    return np.round(samples * 32767).astype("<i2").tobytes()


def _medians(ours: Callable[[], None], direct: Callable[[], None], repeats: int) -> tuple[float, float]:
    """Milliseconds, taken in turn, so that another process's work falls on both; one run of each before it counts."""
    times: tuple[list[float], list[float]] = ([], [])
    for work in (ours, direct):
        work()
    for _ in range(repeats):
        for work, spent in zip((ours, direct), times, strict=True):
            start = time.perf_counter()
            work()
            spent.append(time.perf_counter() - start)
    return 1000 * statistics.median(times[0]), 1000 * statistics.median(times[1])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, default=Path(".headworks/models"))
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(f"{'what':<26} {'ours':>7} {'direct':>7} {'ratio':>6}")
    for one in measure_voice(ModelStore(options.store), options.repeats):
        print(f"{one.what:<26} {one.ours:>7.1f} {one.direct:>7.1f} {one.ours / one.direct:>6.2f}  {one.unit}")


if __name__ == "__main__":
    main()
