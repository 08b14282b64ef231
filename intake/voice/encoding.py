"""How audio may be sent, and at which rates."""

from dataclasses import dataclass
from enum import StrEnum

SAMPLE_RATE_HERTZ = 16_000
"""The rate that Silero VAD and Whisper are made for; everything is resampled to it."""
SAMPLE_RATES_HERTZ = range(4_000, 384_001)
"""The rates that are resampled: from half of a telephone's to the highest that recorders offer."""


class AudioEncoding(StrEnum):
    """The forms of audio that are read."""

    CONTAINER = "container"
    LINEAR16 = "linear16"


@dataclass(frozen=True, slots=True)
class VoiceForm:
    """The form in which one part is sent."""

    encoding: AudioEncoding = AudioEncoding.CONTAINER
    sample_rate_hertz: int = 0
    """The rate of LINEAR16 samples; 0 for containers, which name it themselves."""
    has_partials: bool = False
    """Whether the caller wants transcripts of an utterance that is still being spoken."""
