"""Tell when a stream of values has left its usual range. Pure: no clock, no I/O, a few numbers for each stream."""

import math
from dataclasses import dataclass

USUAL_SHARE = 0.95
"""Of all values, those that count as usual; the others are high."""
UP, DOWN = 3, 1
"""What a high value adds to the score and a usual one takes from it: even where one of four values is high. These are
the steps of a likelihood ratio between 5 % of high values and 57 %, made whole numbers."""
_LEARNING = 0.01
"""How fast the border follows, as a share of the distance from the median to it, on a logarithmic scale."""
_LEARNING_ALARMED = 0.1
"""Of that speed while there is an alarm, so that a long burst does not become usual before it is over; a change that
lasts does, after some thousand values."""
_LEAST_STEP = 0.005
"""The border moves at least so fast where all values are nearly alike."""
_FEWEST = 20
"""Of fewer values none is above 95 %."""
_SMALLEST = 1e-9
"""Taken for zero, which has no logarithm."""


@dataclass(frozen=True, slots=True)
class DetectorSettings:
    """When a detector raises its alarm."""

    threshold: int = 18
    """The score that raises it: six high values in a row, or more that are mixed with usual ones. With independent
    values of any distribution, two false alarms are at least 1,000,000 values apart on average: 9,000,000 if the
    border were known, 2,400,000 while it is so far off that 6 % are high."""
    least_ratio: float = 1.25
    """A value is high only when it is so many times the border. It keeps quiet about a change of a few percent in a
    stream that is very regular, and makes false alarms rarer still."""
    warm_up_values: int = 400
    """Values that are kept to find the first border, before any alarm."""

    def __post_init__(self) -> None:
        if self.threshold < UP or self.least_ratio < 1 or self.warm_up_values < _FEWEST:
            raise ValueError(f"threshold must be at least {UP}, least_ratio 1, warm_up_values {_FEWEST}")


class Detector:
    """Watches one stream of positive values for runs of high ones.

    It learns the border below which 95 % of the values lie, and keeps a score that rises with each value above it and
    falls with each one below. Only the order of values counts, so that the rate of false alarms does not depend on how
    they are spread; a ratio of deviation to mean over five values, as it is used elsewhere, never passes 2.

    Source: the score is a Bernoulli CUSUM chart (Reynolds and Stoumbos, A CUSUM Chart for Monitoring a Proportion When
    Inspecting Continuously, Journal of Quality Technology 31, 1999); the border is found by stochastic approximation
    (Robbins and Monro, 1951) on the logarithm.
    """

    def __init__(self, least: float, settings: DetectorSettings) -> None:
        """Begin without knowing anything.

        Args:
            least: A value up to this is never high, whatever is usual.
        """
        self.is_alarmed = False
        self.strength = 0.0
        """The highest value since the alarm's first signs, as a multiple of the border."""
        self._least = least
        self._settings = settings
        self._margin = math.log(settings.least_ratio)
        self._first: list[float] = []
        """Logarithms of the values of the warm-up; empty after it."""
        self._border: float | None = None
        self._step = 0.0
        self._score = 0

    @property
    def usual(self) -> float:
        """The border: 95 % of the values lie below it. 0 until enough were seen."""
        return math.exp(self._border) if self._border is not None else 0.0

    def add(self, value: float) -> None:
        """Take one value, at least 0."""
        log = math.log(max(value, _SMALLEST))
        if self._border is None:
            self._warm_up(log)
            return
        above = log - self._border
        if above > self._margin and value > self._least:
            self._rise(above)
        else:
            self.calm()
        speed = _LEARNING_ALARMED if self.is_alarmed else 1.0
        self._border += speed * self._step * (USUAL_SHARE if above > 0 else USUAL_SHARE - 1)

    def calm(self) -> None:
        """Take one usual value without learning from it, where nothing came that could be measured."""
        self._score = max(0, self._score - DOWN)
        if not self._score:
            self.is_alarmed = False
            self.strength = 0.0

    def _warm_up(self, log: float) -> None:
        self._first.append(log)
        if len(self._first) == self._settings.warm_up_values:
            ordered, self._first = sorted(self._first), []
            self._border = ordered[int(USUAL_SHARE * len(ordered))]
            self._step = max(_LEAST_STEP, _LEARNING * (self._border - ordered[len(ordered) // 2]))

    def _rise(self, above: float) -> None:
        # Capped: the alarm ends soon after the values are usual again, however long it lasted.
        self._score = min(self._score + UP, self._settings.threshold)
        self.strength = max(self.strength, math.exp(above))
        self.is_alarmed |= self._score >= self._settings.threshold
