"""One second of a run, as it is shown while it goes on. Pure."""

from dataclasses import dataclass

from headworks.server.load.step import Step
from headworks.server.load.tally import State, Tally


@dataclass(frozen=True, slots=True)
class Moment:
    """What happened within one second, whichever step its turns belong to. Rates are per second, times in seconds."""

    at_seconds: float
    """Its end, since the run began."""
    step: Step | None
    """None before the first one."""
    offered: float
    """Turns that were due."""
    finished: float
    refused: float
    """Calls that a limit refused."""
    late: float
    failed: float
    goodput: float
    """Tokens of turns that finished inside their deadline, counted when they finished."""
    first_token_p50: float | None
    first_token_p99: float | None
    gap_p99: float | None
    open_turns: int
    """At its end."""


def moment_of(at_seconds: float, seconds: float, step: Step | None, tally: Tally, open_turns: int) -> Moment:
    """Sum up what was counted within `seconds`."""
    figures = tally.figures(seconds)
    return Moment(
        at_seconds=at_seconds,
        step=step,
        offered=figures.offered / seconds,
        finished=figures.counts[State.FINISHED] / seconds,
        refused=sum(count for _, count in figures.refusals) / seconds,
        late=figures.counts[State.LATE] / seconds,
        failed=figures.counts[State.FAILED] / seconds,
        goodput=figures.goodput,
        first_token_p50=figures.first_token_p50,
        first_token_p99=figures.first_token_p99,
        gap_p99=figures.gap_p99,
        open_turns=open_turns,
    )
