"""What a probe is to do, and its bounds."""

from dataclasses import dataclass
from enum import Enum


class Arrivals(Enum):
    """Who decides when the next turn begins."""

    OPEN = "open"
    """A clock does: turns arrive at a rate, by chance, whatever became of the ones before."""
    CLOSED = "closed"
    """A number of callers do, each when its last turn has ended."""


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """The ramp and its bounds. A level is turns a second with open arrivals, callers with closed ones."""

    arrivals: Arrivals = Arrivals.OPEN
    first_level: float = 1.0
    """Of the first step; each step of the ramp doubles it until the server bends."""
    last_level: float = 1024.0
    """The ramp ends here, bent or not. Past the knee the load goes on to `past` times the knee."""
    finer_steps: int = 3
    """Steps between the last level that held and the first that did not; three find the knee within a tenth."""
    past: tuple[float, ...] = (2.0, 4.0)
    """How many times the knee is offered after it was found, one step each."""
    warm_up_seconds: float = 2.0
    """Of each step, before its window; what it brings is not counted in the step."""
    window_seconds: float = 8.0
    """Turns that are due within it make the step's figures. Long enough for a hundred turns where it matters."""
    deadline_seconds: float = 10.0
    """A turn is worth something until this long after it was due; then it is cancelled."""
    max_turns: int = 100_000
    """Turns in all; the run ends there with what it has seen."""
    max_seconds: float = 900.0
    """Of the whole run; it ends there with what it has seen."""
    max_open_turns: int = 4096
    """Turns at once, some 40 KiB each here; one more is not sent, and counted as unsent."""
    seed: int = 1
    """Of lengths, tenants and arrivals."""

    def __post_init__(self) -> None:
        """Refuse what cannot be meant.

        Raises:
            ValueError: a value is out of its range; names it.
        """
        _require(0 < self.first_level <= self.last_level, "the first level must be above 0 and at most the last")
        _require(self.finer_steps >= 0, "the finer steps must not be negative")
        _require(all(factor > 1 for factor in self.past), "past the knee means more than 1 times the knee")
        _require(self.warm_up_seconds >= 0, "the warm-up must not be negative")
        _require(self.window_seconds > 0, "the window must be longer than 0 s")
        _require(self.deadline_seconds > 0, "the deadline must be longer than 0 s")
        _require(min(self.max_turns, self.max_open_turns) > 0, "the most turns must be at least 1")
        _require(self.max_seconds > 0, "the longest time must be longer than 0 s")


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise ValueError(sentence)
