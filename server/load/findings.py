"""What a run says about the server: the knee, what was met first, what happens past it, and how it comes back. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from headworks.server.load.gauges import signs_in
from headworks.server.load.knee import GOOD_SHARE, Knee
from headworks.server.load.moment import Moment
from headworks.server.load.plan import knee_of
from headworks.server.load.session import Run
from headworks.server.load.settings import LoadSettings
from headworks.server.load.step import Phase, StepResult
from headworks.server.load.tally import State

RECOVERED_SHARE = GOOD_SHARE
"""The server is back when of what ends within a second so much ends well."""


class Met(Enum):
    """What a load can meet first."""

    REFUSAL = "refusal"
    """A limit of the server that names itself."""
    DEADLINE = "deadline"
    """None: turns were just too slow."""
    FAILURE = "failure"
    """An error."""
    CLIENT = "client"
    """The one who makes the load."""


@dataclass(frozen=True, slots=True)
class FirstLimit:
    """What was met at the lowest level at which anything was."""

    met: Met
    name: str
    """The limit, the code, or "" for the deadline and the client."""
    level: float
    share: float
    """Of the turns of that level that did not finish inside their deadline."""
    signs: tuple[str, ...]
    """What the server's gauges showed at that level."""
    is_client_limit: bool
    """Whether this client was at its own limit there, so that the server's may lie higher."""


@dataclass(frozen=True, slots=True)
class Past:
    """One step past the knee, or back at it, beside the knee."""

    phase: Phase
    level: float
    factor: float
    """Of the knee's level."""
    goodput_share: float
    """Of the knee's goodput."""
    good_share: float
    refused_share: float
    late_share: float
    failed_share: float
    first_token_p99: float | None


@dataclass(frozen=True, slots=True)
class Findings:
    """All of it."""

    knee: Knee | None
    """None when not even the first level held."""
    first_limit: FirstLimit | None
    """None when nothing was met."""
    past: tuple[Past, ...]
    recovery_seconds: float | None
    """From the moment the load was back at the knee until a second was good again; None when none was, or not tried."""
    client_limited: tuple[float, ...]
    """Levels at which this client was the limit."""


def findings_of(run: Run, settings: LoadSettings) -> Findings:
    """Read a run."""
    knee = knee_of(settings, run.results)
    return Findings(
        knee=knee,
        first_limit=first_limit(run.results),
        past=tuple(_past(result, knee) for result in run.results if not result.step.is_fresh) if knee else (),
        recovery_seconds=recovery_seconds(run.moments),
        client_limited=tuple(sorted({result.step.level for result in run.results if result.is_client_limit})),
    )


def first_limit(results: Sequence[StepResult]) -> FirstLimit | None:
    """Return what was met at the lowest level.

    One refusal is enough; late and failed turns count once a level bends.
    """
    for result in sorted(results, key=lambda result: result.step.level):
        if (met := _met(result)) is not None:
            return FirstLimit(
                *met,
                level=result.step.level,
                share=1 - result.figures.good_share,
                signs=tuple(signs_in(result.gauges)),
                is_client_limit=result.is_client_limit,
            )
    return None


def recovery_seconds(moments: Sequence[Moment]) -> float | None:
    """Return how long the server needed once the load was back at the knee."""
    back = [moment for moment in moments if moment.step is not None and moment.step.phase is Phase.BACK]
    for number, moment in enumerate(back, 1):
        ended = moment.finished + moment.refused + moment.late + moment.failed
        if moment.finished and moment.finished >= RECOVERED_SHARE * ended:
            return float(number)
    return None


def _met(result: StepResult) -> tuple[Met, str] | None:
    figures = result.figures
    if figures.refusals:
        return Met.REFUSAL, figures.refusals[0][0]
    if result.point.holds:
        return None
    if figures.counts[State.UNSENT] > max(figures.counts[State.LATE], figures.counts[State.FAILED]):
        return Met.CLIENT, ""
    if figures.counts[State.FAILED] > figures.counts[State.LATE]:
        return Met.FAILURE, next((why for state, why, _ in figures.reasons if state is State.FAILED), "")
    return Met.DEADLINE, next((why for state, why, _ in figures.reasons if state is State.LATE), "")


def _past(result: StepResult, knee: Knee) -> Past:
    figures = result.figures
    return Past(
        phase=result.step.phase,
        level=result.step.level,
        factor=result.step.level / knee.level,
        goodput_share=figures.goodput / knee.goodput,
        good_share=figures.good_share,
        refused_share=figures.share(State.REFUSED),
        late_share=figures.share(State.LATE),
        failed_share=figures.share(State.FAILED),
        first_token_p99=figures.first_token_p99,
    )
