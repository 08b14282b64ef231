"""What one voice part may cost, and when an utterance begins and ends. Light: no model or decoder is imported."""

from dataclasses import dataclass

WHISPER_SECONDS = 30
"""What Whisper hears at once; its encoder was trained on this length."""


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """When an utterance begins and ends, on Silero's probability of speech in windows of 32 ms."""

    speech_probability: float = 0.5
    """At and over it a window is speech; Silero's own default."""
    silence_probability: float = 0.35
    """Under it a window is silence; in between it is whatever was before. Silero's own default."""
    min_silence_milliseconds: int = 500
    """Silence that ends an utterance; shorter ones are breaths."""
    min_speech_milliseconds: int = 96
    """Less than this is a click."""
    padding_milliseconds: int = 250
    """Kept before and after the speech, so that soft consonants are not cut."""
    max_utterance_seconds: int = 28
    """A longer one is cut at its quietest window; Whisper hears 30 s, padding included."""

    def __post_init__(self) -> None:
        if self.max_utterance_seconds * 1000 + 2 * self.padding_milliseconds > WHISPER_SECONDS * 1000:
            raise ValueError(
                f"max_utterance_seconds and twice padding_milliseconds must fit in {WHISPER_SECONDS} s, as Whisper does"
            )


@dataclass(frozen=True, slots=True)
class VoiceSettings:
    """Limits on one voice part."""

    max_bytes: int = 64 * 1024 * 1024
    """Of a container, kept until it is decoded; half an hour of 16-bit mono at 16 kHz is 58 MB."""
    max_seconds: int = 1800
    """Of either form, by the header and by the samples."""
    partial_interval_milliseconds: int = 800
    """New speech between two partial transcripts; one costs 0.4 s on two cores."""
    partial_padding_seconds: int = 10
    """Silence after the speech of a partial; with 3 s and less Whisper loops and invents."""
    no_speech_probability: float = 0.6
    """Over it, when the words are unlikely too, nothing was said: what sounds like speech to the VAD and is none, a
    broken sound, would be given words. Whisper's own default (whisper/transcribe.py, as the next one)."""
    min_mean_log_probability: float = -1.0
    """Words at or under it are unlikely; likelier ones are kept whatever Whisper thought before it heard them."""
    endpoint: EndpointSettings = EndpointSettings()
