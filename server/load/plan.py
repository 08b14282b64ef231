"""Which step comes next, and when turns arrive within it. Pure."""

import random
from collections.abc import Iterable, Iterator, Sequence
from math import log, sqrt

from headworks.server.load.knee import Knee, Point, find_knee, is_bent
from headworks.server.load.settings import Arrivals, LoadSettings
from headworks.server.load.step import Phase, Step, StepResult

_ON_LINE = 0.9
"""Goodput that has grown by so much of what the load has still grows with it."""


def next_step(settings: LoadSettings, results: Sequence[StepResult]) -> Step | None:
    """Return the next step, or None when all was seen.

    The load doubles until a level bends, is then halved in on the knee, goes past it and comes back to it. Nothing is
    offered past a knee that was not found.
    """
    ramp, search, past, back = (_of(results, phase) for phase in Phase)
    if not ramp:
        return Step(Phase.RAMP, _level(settings, settings.first_level))
    has_bent = is_bent(ramp[-2].point if len(ramp) > 1 else None, ramp[-1].point, settings.arrivals)
    if not has_bent and ramp[-1].step.level < settings.last_level:
        return Step(Phase.RAMP, min(_level(settings, 2 * ramp[-1].step.level), settings.last_level))
    knee = knee_of(settings, [*ramp, *search])
    if knee is None or not knee.is_reached:
        return None
    if not past and len(search) < settings.finer_steps:
        level = _nearer(settings, knee, [result.point for result in (*ramp, *search)])
        if level is not None:
            return Step(Phase.SEARCH, level)
    if len(past) < len(settings.past):
        return Step(Phase.PAST, _level(settings, knee.level * settings.past[len(past)]))
    return None if back else Step(Phase.BACK, knee.level)


def knee_of(settings: LoadSettings, results: Sequence[StepResult]) -> Knee | None:
    """Return the knee of what was seen on the way up; a server that is coming back to it tells nothing of it."""
    seen = [result for result in results if result.is_whole and result.step.phase is not Phase.BACK]
    return find_knee([result.point for result in seen], settings.arrivals)


def arrivals(rate: float, stretches: Iterable[float], chance: random.Random) -> Iterator[float]:
    """Yield seconds since the start at which turns arrive: by chance, and in each stretch as many as the rate says.

    Within a stretch that is a Poisson process whose count is known. A hundred turns that come quite freely may as well
    be ninety, and the knee of such windows is where chance has it.

    Args:
        stretches: Lengths in seconds, one after the other; what is left of a turn goes on to the next one.
    """
    start, owed = 0.0, 0.0
    for length in stretches:
        owed += rate * length
        count, at = int(owed + 1e-9), 0.0
        owed -= count
        for left in range(count, 0, -1):
            at += (length - at) * (1 - chance.random() ** (1 / left))  # the least of so many that lie evenly
            yield start + at
        start += length


def _of(results: Sequence[StepResult], phase: Phase) -> list[StepResult]:
    return [result for result in results if result.step.phase is phase]


def _nearer(settings: LoadSettings, knee: Knee, points: Sequence[Point]) -> float | None:
    """Return a level that tells more of where the knee is; None when none is left between those that were tried.

    Where the knee found still lies on the line of the levels below it, the true one lies above. Else it is the least
    level of a plateau, and the true one may lie on either side: the wider gap is halved. The middle is one of ratios.
    """
    below = max((point for point in points if point.level < knee.level), key=lambda point: point.level, default=None)
    above = [point.level for point in points if point.level > knee.level]
    neighbours = [min(above)] if above else []
    if below is not None and knee.goodput < _ON_LINE * below.goodput * knee.level / below.level:
        neighbours.append(below.level)
    for other in sorted(neighbours, key=lambda level: -abs(log(level / knee.level))):
        level = _level(settings, sqrt(knee.level * other))
        if level not in (knee.level, other):
            return level
    return None


def _level(settings: LoadSettings, level: float) -> float:
    """Callers are whole; rates are written with three digits, which is closer than anybody can measure them."""
    return max(1.0, float(round(level))) if settings.arrivals is Arrivals.CLOSED else float(f"{level:.3g}")
