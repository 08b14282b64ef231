"""The port through which a turn says what happened. Sinks choose the words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from headworks.policy.question import Stage
from headworks.server.turn.steps import Judgement, Timings, Usage


class Outcome(StrEnum):
    """How a turn ended."""

    FINISHED = "finished"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(slots=True)
class TurnRecord:
    """The facts of one turn, filled in as it goes. Ids, counts and durations only."""

    turn_id: str
    tenant: str
    model: str
    trace_headers: Mapping[str, str] = field(default_factory=dict)
    """From the caller."""
    outcome: Outcome = Outcome.FAILED
    error: str = ""
    """The error's class when the turn did not finish."""
    usage: Usage = field(default_factory=Usage)
    timings: Timings = field(default_factory=Timings)
    modalities: tuple[str, ...] = ()


class TurnObserver(Protocol):
    """Is told facts; must not raise and must not block."""

    def turn_started(self, record: TurnRecord) -> Mapping[str, str]:
        """Return the W3C headers that name the turn's own span, for the engine; empty when nothing is traced."""
        ...

    def judged(self, record: TurnRecord, stage: Stage, judgement: Judgement, seconds: float) -> None:
        """Policy answered."""
        ...

    def no_verdict(self, record: TurnRecord, stage: Stage, reason: str, decision_id: str) -> None:
        """Policy did not answer; the turn is refused."""
        ...

    def turn_finished(self, record: TurnRecord) -> None:
        """The turn is over, however it ended."""
        ...


class SilentObserver:
    """Hears everything and says nothing."""

    def turn_started(self, record: TurnRecord) -> Mapping[str, str]:
        return {}

    def judged(self, record: TurnRecord, stage: Stage, judgement: Judgement, seconds: float) -> None:
        pass

    def no_verdict(self, record: TurnRecord, stage: Stage, reason: str, decision_id: str) -> None:
        pass

    def turn_finished(self, record: TurnRecord) -> None:
        pass
