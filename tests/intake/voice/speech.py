"""Speech for tests, and how to hear it."""

import io
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from headworks.intake.finding import Heard
from headworks.intake.voice.container import ContainerReader
from headworks.intake.voice.encoding import VoiceForm
from headworks.intake.voice.pcm import Samples
from headworks.intake.voice.preprocessor import VoiceModels, VoicePreprocessor
from headworks.intake.voice.settings import VoiceSettings
from headworks.intake.voice.whisper import Transcript
from headworks.intake.work import WorkPool

REPOSITORY = Path(__file__).resolve().parent.parent.parent.parent
QUESTION_FILE = REPOSITORY / "server" / "cli" / "demo" / "question.flac"
QUESTION = "How many orders did we ship in March?"
AUSTEN = REPOSITORY / "tests" / "data" / "austen-0930.wav"
AUSTEN_WORDS = "He might even have been made amiable himself."
ALL_AUSTEN = REPOSITORY.parent / "shared" / "data" / "voice"


def samples_of(path: Path) -> Samples:
    samples: Samples = soundfile.read(path, dtype="float32")[0]
    return samples


def linear16(samples: Samples) -> bytes:
    return np.clip(np.round(samples * 32768), -32768, 32767).astype("<i2").tobytes()


def encoded(samples: NDArray[np.float32], rate: int, **form: str) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, samples, rate, **form)
    return file.getvalue()


def read_container(data: bytes | bytearray, settings: VoiceSettings | None = None) -> Samples:
    """Decode a whole file."""
    reader, blocks = ContainerReader(data, 1, settings or VoiceSettings()), []
    while not reader.is_over:
        blocks.append(reader.read()[0])
    return np.concatenate(blocks)


async def hear(
    models: VoiceModels,
    pool: WorkPool,
    data: bytes,
    form: VoiceForm | None = None,
    *,
    chunk_bytes: int = 6400,
    settings: VoiceSettings | None = None,
) -> list[Heard]:
    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(data), chunk_bytes):
            yield data[start : start + chunk_bytes]

    preprocessor = VoicePreprocessor(1, models, pool, form or VoiceForm(), settings or VoiceSettings())
    return [finding async for finding in preprocessor.process(chunks()) if isinstance(finding, Heard)]


def finals(heard: list[Heard]) -> list[str]:
    return [one.transcript for one in heard if one.is_final]


class RecordingWhisper:
    """Keeps what it is given to hear, and always hears the same."""

    def __init__(self, transcript: Transcript) -> None:
        self.heard: list[Samples] = []
        self.transcript = transcript

    def transcribe(self, samples: Samples, padding_seconds: int | None = None) -> Transcript:
        self.heard.append(samples)
        return self.transcript


def transcript(
    text: str = "words",
    *,
    mean_log_probability: float = -0.7,
    no_speech_probability: float = 0.0,
    is_ended: bool = True,
) -> Transcript:
    """What Whisper may have heard, at confidence 0.8."""
    return Transcript(text, (1,), 0.8, mean_log_probability, no_speech_probability, is_ended)
