"""The knee on curves whose knee is known."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.server.load.knee import Point, find_knee
from headworks.server.load.settings import Arrivals

DOUBLING = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)


def served(level: float, rate: float) -> Point:
    """An open level of 100 s, of which the server finished `rate` turns a second, 10 tokens each."""
    return Point(level, 10 * rate, round(100 * rate), round(100 * level))


def linear_then_flat(levels: Sequence[float], capacity: float) -> list[Point]:
    return [served(level, min(level, capacity)) for level in levels]


def test_the_knee_of_a_curve_that_flattens_is_where_it_flattens() -> None:
    """Above it turns only fail."""
    knee = find_knee(linear_then_flat((*DOUBLING, 20.0), 20.0), Arrivals.OPEN)
    assert knee is not None
    assert (knee.level, knee.goodput, knee.is_reached) == (20.0, 200.0, True)


def test_the_knee_of_a_collapse_is_its_top() -> None:
    """A gateway that loses 92 % of its throughput past its critical load must not be told from its ruins."""
    points = [served(level, level if level <= 16 else 16 * 0.08) for level in DOUBLING]
    knee = find_knee(points, Arrivals.OPEN)
    assert knee is not None
    assert (knee.level, knee.is_reached) == (16.0, True)


def test_a_knee_that_was_not_reached_says_so() -> None:
    """The highest level that was tried is only a lower bound of the critical point."""
    knee = find_knee(linear_then_flat(DOUBLING, 1000.0), Arrivals.OPEN)
    assert knee is not None
    assert (knee.level, knee.is_reached) == (64.0, False)


def test_there_is_no_knee_where_nothing_holds() -> None:
    """A server that is past it at once has none that was seen."""
    assert find_knee([served(level, 0.1 * level) for level in DOUBLING], Arrivals.OPEN) is None
    assert find_knee([], Arrivals.OPEN) is None


def test_callers_who_wait_bend_the_curve_without_a_late_turn() -> None:
    """With closed arrivals every turn may finish, only ever more slowly."""
    points = [Point(level, 100 * min(level, 8.0), 100, 100) for level in DOUBLING]
    knee = find_knee(points, Arrivals.CLOSED)
    assert knee is not None
    assert (knee.level, knee.is_reached) == (8.0, True)


def test_one_bad_level_on_the_way_up_is_not_the_knee() -> None:
    """A hiccup of the machine is no critical point when twice the load held."""
    points = linear_then_flat(DOUBLING, 1000.0)
    points[2] = served(4.0, 2.0)
    knee = find_knee(points, Arrivals.OPEN)
    assert knee is not None
    assert knee.level == 64.0


@given(
    capacity=st.floats(4, 100),
    noise=st.lists(st.floats(0.98, 1.0), min_size=40, max_size=40),
    collapse=st.floats(0, 1),
)
def test_noise_moves_the_knee_by_a_step_at_most(capacity: float, noise: list[float], collapse: float) -> None:
    """Windows differ by some percent, flat or falling behind the top."""
    levels = [1.25**number for number in range(40)]
    points = [
        served(level, (level if level <= capacity else capacity * collapse) * factor)
        for level, factor in zip(levels, noise, strict=True)
    ]
    knee = find_knee(points, Arrivals.OPEN)
    assert knee is not None
    assert knee.is_reached
    # A level just past it still counts as one that holds.
    assert capacity / 1.25**2 <= knee.level <= capacity * 1.25


@pytest.mark.parametrize(("finished", "holds"), [(8, True), (7, True), (5, False)])
def test_few_turns_are_granted_their_chance(finished: int, holds: bool) -> None:
    """One lost turn of eight says less than a hundred of eight hundred."""
    assert Point(1.0, 1.0, finished, 8).holds is holds
    assert not Point(1.0, 1.0, 700, 800).holds
