"""What one voice part may cost, and when an utterance begins and ends. Light: no model or decoder is imported."""

from dataclasses import dataclass

WHISPER_SECONDS = 30
"""What Whisper hears at once: its encoder was trained on this length."""
_MOST_BYTES = 2**31
"""Half of what the header of a WAV can name, and the decoder is given one of nearly the size that was sent."""


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """When an utterance begins and ends. The measure is Silero's probability of speech in windows of 32 ms."""

    speech_probability: float = 0.5
    """A window of this probability or more is speech. This is Silero's own default."""
    silence_probability: float = 0.35
    """A window of less is silence; one in between is what the window before it was. This is Silero's own default."""
    min_silence_milliseconds: int = 500
    """A silence of this length ends an utterance; people breathe in shorter ones."""
    min_speech_milliseconds: int = 96
    """Shorter speech is a click: three windows, and no word is shorter."""
    padding_milliseconds: int = 250
    """The sound that is kept before and after speech, so that soft consonants are not cut off."""
    max_utterance_seconds: int = 28
    """A longer utterance is cut at its quietest window, because Whisper hears 30 s with the padding."""

    def __post_init__(self) -> None:
        if self.max_utterance_seconds * 1000 + 2 * self.padding_milliseconds > WHISPER_SECONDS * 1000:
            raise ValueError(
                f"max_utterance_seconds and twice padding_milliseconds must fit in {WHISPER_SECONDS} s, as Whisper does"
            )


@dataclass(frozen=True, slots=True)
class VoiceSettings:
    """The limits on one voice part, and when its words are believed."""

    max_bytes: int = 64 * 1024 * 1024
    """The size of a container, which is kept until it is decoded. Half an hour of 16-bit mono at 16 kHz is 58 MB."""
    max_seconds: int = 1800
    """The length of a part in either form. It is told from the header of a container, and while a stream comes."""
    max_container_pieces: int = 100_000
    """Pieces of a container that are looked at one by one: tags, chunks, metadata blocks, pages. Each costs some
    microseconds, be it empty. Half an hour of Opus with one page for each packet has 90,000."""
    max_joined_files: int = 100
    """Files that were put together to one, as the streams of a chained OGG. Each costs a decoder, be it empty."""
    partial_interval_milliseconds: int = 800
    """The new speech that makes another partial transcript worth its cost, which is 0.4 s on two cores."""
    partial_padding_seconds: int = 10
    """The silence that is put after the speech of a partial: with 3 s or less Whisper repeats itself and invents."""
    no_speech_probability: float = 0.6
    """Whisper's probability that a sound is no speech. Over it, words that are unlikely too were not said; otherwise a
    broken sound that the VAD takes for speech would be given words. This and the next two are Whisper's own defaults
    (whisper/transcribe.py)."""
    min_mean_log_probability: float = -1.0
    """Words at or under it are unlikely. Likelier ones are kept whatever Whisper thought before it heard them."""
    max_compression_ratio: float = 2.4
    """How many times smaller a transcript may become when it is compressed; one that becomes smaller repeats itself.
    When Whisper found no end to it either, or it is over four times this, Whisper was caught in a loop, and the words
    are dropped. Otherwise they may have been said so. They are kept at a lower confidence, because Whisper grows surer
    of each word that it repeats."""
    endpoint: EndpointSettings = EndpointSettings()

    def __post_init__(self) -> None:
        if self.max_bytes > _MOST_BYTES:
            raise ValueError(f"max_bytes must not be over {_MOST_BYTES}, half of what the header of a WAV can name")
