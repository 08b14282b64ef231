"""Where utterances begin and end. Pure: windows are counted, not timed."""

from dataclasses import dataclass

from headworks.intake.voice.encoding import SAMPLE_RATE_HERTZ
from headworks.intake.voice.settings import EndpointSettings
from headworks.intake.voice.vad import WINDOW_SAMPLES

WINDOW_MILLISECONDS = WINDOW_SAMPLES * 1000 // SAMPLE_RATE_HERTZ
_OVER_ANY_PROBABILITY = 2.0


@dataclass(frozen=True, slots=True)
class Utterance:
    """Windows of speech, counted from the part's first; the end is exclusive."""

    start_window: int
    end_window: int


class Endpointer:
    """Turns probabilities of speech, one per window, into utterances."""

    def __init__(self, settings: EndpointSettings) -> None:
        self._settings = settings
        self._min_silence = _windows(settings.min_silence_milliseconds)
        self._min_speech = _windows(settings.min_speech_milliseconds)
        self._max_length = _windows(settings.max_utterance_seconds * 1000)
        self._count = 0
        self._start: int | None = None
        self._end = 0
        self._quietest = (_OVER_ANY_PROBABILITY, 0)

    @property
    def open_since(self) -> int | None:
        """First window of the utterance that is being spoken; None in silence."""
        return self._start

    def feed(self, probability: float) -> Utterance | None:
        """Take one window; return the utterance that it ends, if it ends one."""
        window = self._count
        self._count += 1
        if probability >= self._settings.speech_probability:
            if self._start is None:
                self._start, self._quietest = window, (_OVER_ANY_PROBABILITY, window)
            self._end = window + 1
        if self._start is None:
            return None
        if window - self._start > self._max_length // 2:  # Both halves of a cut then have words enough around them.
            self._quietest = min(self._quietest, (probability, window))
        if window + 1 - self._start >= self._max_length:
            return self._cut()
        is_silent = probability < self._settings.silence_probability
        if is_silent and window + 1 - self._end >= self._min_silence:
            return self.finish()
        return None

    def finish(self) -> Utterance | None:
        """End the utterance that is open, if it is long enough to be one."""
        start, self._start = self._start, None
        if start is None or self._end - start < self._min_speech:
            return None
        return Utterance(start, self._end)

    def _cut(self) -> Utterance:
        """Split an endless utterance at its quietest late window; the rest begins the next one."""
        start, at = self._start or 0, max(self._quietest[1], (self._start or 0) + 1)
        self._start, self._quietest = at, (_OVER_ANY_PROBABILITY, at)
        self._end = max(self._end, at + 1)
        return Utterance(start, at)


def _windows(milliseconds: int) -> int:
    return max(1, milliseconds // WINDOW_MILLISECONDS)
