"""When there will be room: for a turn that asks to wait, and for one that is told to come back."""

import random
from collections.abc import Callable

_WEIGHT = 0.05
"""Of one ended turn in the mean."""
_RATE_SECONDS = 1.0
"""The time over which turns are counted for the rate."""
_FADE = 0.97
"""What is left of the best rate, and of how far the best run was under the mean one, after that time."""
_NEEDED = 0.8
"""Of the turns at once that Little's law gives: the rate was counted over times in which more of them ran."""
_RETURNING = 1.5
"""Callers that are told to come in the time in which one can be served: some do not come back."""
_LEAST_RETRY_SECONDS = 0.05
_SPREAD = 0.25
"""Share of a time to stay away that is left to chance, so that those refused together do not come back together."""


class Forecast:
    """Estimates from how long turns ran lately. It also keeps the places of a second line, outside: the refused."""

    def __init__(self, max_retry_seconds: float, draw: Callable[[], float] = random.random) -> None:
        """Begin without knowing anything.

        Args:
            draw: Gives numbers in [0, 1).
        """
        self.run_seconds = 0.0
        """From permit to end; 0 until one has ended, so that nothing is refused out of ignorance."""
        self.answer_tokens = 0.0
        self._has_seen = False
        self._best_run_seconds = 0.0
        self._best_rate = 0.0
        self._ended = 0
        self._counted_at = 0.0
        self._max_retry_seconds = max_retry_seconds
        self._draw = draw
        self._next_return = 0.0

    def ended(self, run_seconds: float, answer_tokens: int) -> None:
        """Take a turn that gave its permit back."""
        self._ended += 1
        if not self._has_seen:
            self._has_seen, self.run_seconds, self.answer_tokens = True, run_seconds, answer_tokens
            self._best_run_seconds = run_seconds
        self.run_seconds += _WEIGHT * (run_seconds - self.run_seconds)
        self.answer_tokens += _WEIGHT * (answer_tokens - self.answer_tokens)

    def look(self, now: float) -> None:
        """Follow the best rate and the best time; called many times a second."""
        elapsed = now - self._counted_at
        if elapsed < _RATE_SECONDS:
            return
        self._best_rate = max(self._best_rate * _FADE, self._ended / elapsed)
        behind = max(0.0, self.run_seconds - self._best_run_seconds)
        self._best_run_seconds = self.run_seconds - behind * _FADE
        self._ended, self._counted_at = 0, now

    @property
    def needed_turns(self) -> float:
        """Turns at once that the best rate of late needs, each as short as at best (Little's law)."""
        return _NEEDED * self._best_rate * self._best_run_seconds

    def wait_seconds(self, ahead: float, at_once: int) -> float:
        """Return how long a turn waits.

        Args:
            ahead: Turns that are served before it.
            at_once: Turns that run at once.
        """
        return (ahead + 1) * self.run_seconds / max(1, at_once)

    def retry_seconds(self, now: float, room_in_seconds: float, at_once: int) -> float:
        """Return when a refused caller should come back, and keep that time for it.

        Times follow each other as fast as turns can be served, so that callers return one by one.

        Args:
            room_in_seconds: When there should be room for the first one.
        """
        latest = now + self._max_retry_seconds
        first = min(max(self._next_return, now + room_in_seconds), latest)
        self._next_return = first + self._turn_seconds(at_once) / _RETURNING
        return max(_LEAST_RETRY_SECONDS, (first - now) * (1 - _SPREAD * self._draw()))

    def _turn_seconds(self, at_once: int) -> float:
        """Return the time between the ends of two turns, by the best rate of late or by what runs, if that is better.

        A burst makes turns long and the limit small for a moment; who comes with it is not told to wait for longer.
        """
        by_limit = self.wait_seconds(0, at_once)
        return min(by_limit, 1 / self._best_rate) if self._best_rate else by_limit
