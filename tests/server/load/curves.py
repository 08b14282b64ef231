"""Made curves: results of steps that no server gave."""

from collections.abc import Callable, Sequence

from headworks.server.load.plan import next_step
from headworks.server.load.settings import Arrivals, LoadSettings
from headworks.server.load.step import Phase, Step, StepResult, Strain
from headworks.server.load.tally import Ending, State, Tally

TOKENS = 10
"""Of every answer."""
SECONDS = 10.0
"""Of every window."""
LATE = Ending(State.LATE)
CALM = Strain(0.1, 0.1, 0.001)
Serves = Callable[[float], float]
"""Returns how many of a level's turns a second finish inside their deadline."""


def result(
    step: Step,
    finished: float,
    offered: float,
    *,
    lost: Ending = LATE,
    refusals: Sequence[str] = (),
    gauges: dict[str, float] | None = None,
    strain: Strain = CALM,
) -> StepResult:
    """A step in which so many turns a second finished of so many that were due; the rest is lost."""
    tally = Tally()
    tally.offered = round(offered * SECONDS)
    good = min(tally.offered, round(finished * SECONDS))
    for number in range(tally.offered):
        tally.note_end(Ending(State.FINISHED, tokens=TOKENS, prompt_tokens=5) if number < good else lost)
    for limit in refusals:
        tally.note_refusal(limit, 0.002)
    figures = tally.figures(SECONDS)
    return StepResult(step, 0.0, SECONDS, figures, (("all", figures),), strain, gauges or {}, is_whole=True)


def walk(settings: LoadSettings, serves: Serves) -> list[StepResult]:
    """Follow the plan to its end against such a server."""
    results: list[StepResult] = []
    while (step := next_step(settings, results)) is not None:
        assert len(results) < 100, "the plan has no end"
        finished = serves(step.level)
        is_open = settings.arrivals is Arrivals.OPEN
        results.append(result(step, finished, step.level if is_open else finished))
    return results


def levels(results: Sequence[StepResult], phase: Phase) -> list[float]:
    """The levels of one phase, in the order of time."""
    return [one.step.level for one in results if one.step.phase is phase]
