"""One step of the ramp, and what was seen in it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from headworks.server.load.knee import Point
from headworks.server.load.tally import Figures, State

MOST_LOOP_SHARE = 0.9
"""Of a core. A loop that is busier than this answers late by itself."""
MOST_LAG_SECONDS = 0.05
"""Times are no longer those of the server when this client reads them so much later."""


class Phase(Enum):
    """What a step is for."""

    RAMP = "ramp"
    """Twice the load of the step before."""
    SEARCH = "search"
    """Between the last step that held and the first that did not."""
    PAST = "past"
    """A multiple of the knee."""
    BACK = "back"
    """The knee again, right after it was exceeded."""


@dataclass(frozen=True, slots=True)
class Step:
    """What is offered."""

    phase: Phase
    level: float
    """Turns a second with open arrivals, callers with closed ones."""

    @property
    def is_fresh(self) -> bool:
        """Whether it begins on an idle server, once the turns of the step before have ended."""
        return self.phase in (Phase.RAMP, Phase.SEARCH)


@dataclass(frozen=True, slots=True)
class Strain:
    """What a step cost this client."""

    cpu_cores: float
    """CPU of the whole process, in cores."""
    loop_share: float
    """CPU of the thread that runs the event loop, in cores; it has one."""
    lag_p99: float | None
    """Seconds by which the event loop was late for a timer."""

    def is_limit(self, figures: Figures) -> bool:
        """Whether a step's figures are this client's and not the server's."""
        return (
            self.loop_share > MOST_LOOP_SHARE
            or (self.lag_p99 or 0.0) > MOST_LAG_SECONDS
            or (figures.send_delay_p99 or 0.0) > MOST_LAG_SECONDS
            or figures.counts[State.UNSENT] > 0
        )


@dataclass(frozen=True, slots=True)
class StepResult:
    """What was seen of one step: of the turns that were due within its window."""

    step: Step
    started_seconds: float
    """Of the window, since the run began."""
    seconds: float
    """Of the window, as far as it came."""
    figures: Figures
    tenants: tuple[tuple[str, Figures], ...]
    """The same for each tenant, by name."""
    strain: Strain
    gauges: Mapping[str, float]
    """The most that each gauge of the server showed; empty when none was read."""
    is_whole: bool
    """False when the run ended within it."""

    @property
    def point(self) -> Point:
        """Its place on the curve."""
        return Point(self.step.level, self.figures.goodput, self.figures.counts[State.FINISHED], self.figures.decided)

    @property
    def is_client_limit(self) -> bool:
        """Whether the figures are this client's and not the server's."""
        return self.strain.is_limit(self.figures)
