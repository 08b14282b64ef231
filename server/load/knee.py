"""The critical point of a curve of goodput over load. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from headworks.server.load.settings import Arrivals

GOOD_SHARE = 0.9
"""A level holds when so many of its turns finish inside their deadline."""
PLATEAU = 0.95
"""Goodput of so much of the best counts as the best: windows differ by a few percent."""
LEAST_GAIN = 0.25
"""With closed arrivals more callers must bring at least so much of what callers brought before; less is a plateau."""


@dataclass(frozen=True, slots=True)
class Point:
    """What one level brought."""

    level: float
    goodput: float
    """Tokens a second of turns that finished inside their deadline."""
    finished: int
    """Those turns."""
    offered: int
    """Turns that were due, without those that this client cut."""

    @property
    def holds(self) -> bool:
        """Whether its turns were served; one standard deviation is granted, which matters where turns are few."""
        slack = sqrt(GOOD_SHARE * (1 - GOOD_SHARE) * self.offered)
        return self.finished >= GOOD_SHARE * self.offered - slack


@dataclass(frozen=True, slots=True)
class Knee:
    """Where more load stops bringing more."""

    level: float
    """The least level that holds and brings the best goodput of those that hold."""
    goodput: float
    is_reached: bool
    """Whether more load was seen to bring no more; else the critical point lies above all that was tried."""


def is_bent(before: Point | None, point: Point, arrivals: Arrivals) -> bool:
    """Whether a level is past the knee.

    With open arrivals that shows in turns that come to nothing. Callers who wait for their answer slow down instead,
    and it shows in a goodput that no longer grows.

    Args:
        before: A lower level that holds; None when there is none.
    """
    if not point.holds:
        return True
    if before is None or arrivals is Arrivals.OPEN or not before.goodput:
        return False
    more = point.level / before.level - 1
    return point.goodput / before.goodput - 1 < LEAST_GAIN * more


def find_knee(points: Sequence[Point], arrivals: Arrivals) -> Knee | None:
    """Return the knee of what was seen; None when no level holds.

    Args:
        points: In any order; a level may occur twice.
    """
    good = [point for point in points if point.holds and point.goodput > 0]
    if not good:
        return None
    best = max(point.goodput for point in good)
    knee = min((point for point in good if point.goodput >= PLATEAU * best), key=lambda point: point.level)
    lower = max((point for point in good if point.level < knee.level), key=lambda point: point.level, default=None)
    is_reached = is_bent(lower, knee, arrivals) or any(
        point.level > knee.level and is_bent(knee, point, arrivals) for point in points
    )
    return Knee(knee.level, knee.goodput, is_reached)
