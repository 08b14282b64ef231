"""How fast the engine answers now, beside how fast it can."""

_MOST_SAMPLES = 512
"""Kept of one window; later ones replace them in turn."""
_FEWEST_SAMPLES = 5
"""Less says nothing about a tenth of them; they wait for the next window."""
_DRIFT = 1.002
"""The best is forgotten this slowly, window by window, so that it follows an engine that has changed."""


class Tempo:
    """Times of one kind, gathered in windows."""

    def __init__(self, goal_seconds: float, max_stretch: float) -> None:
        """Watch one kind.

        Args:
            goal_seconds: Whatever is shorter is never too long.
            max_stretch: What is longer is too long when it is over so many times the best that was seen, too.
        """
        self.mean_seconds = 0.0
        """Smoothed over some windows; 0 before the first one."""
        self._goal = goal_seconds
        self._max_stretch = max_stretch
        self._best = 0.0
        self._samples: list[float] = []
        self._seen = 0

    def add(self, seconds: float) -> None:
        """Take one time."""
        if len(self._samples) < _MOST_SAMPLES:
            self._samples.append(seconds)
        else:
            self._samples[self._seen % _MOST_SAMPLES] = seconds
        self._seen += 1

    def is_stretched(self) -> bool:
        """End the window, and return whether a tenth of its times was too long."""
        if len(self._samples) < _FEWEST_SAMPLES:
            return False
        ordered = sorted(self._samples)
        self._samples, self._seen = [], 0
        middle, late = ordered[len(ordered) // 2], ordered[len(ordered) * 9 // 10]
        self._best = min(self._best * _DRIFT, middle) if self._best else middle
        self.mean_seconds += (middle - self.mean_seconds) * (0.2 if self.mean_seconds else 1.0)
        return late > max(self._goal, self._max_stretch * self._best)
