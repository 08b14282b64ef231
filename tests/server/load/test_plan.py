"""Which steps are taken against servers whose knee is known, and when turns arrive."""

import random
from itertools import pairwise
from statistics import mean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.server.load.plan import arrivals, knee_of
from headworks.server.load.settings import Arrivals, LoadSettings
from headworks.server.load.step import Phase
from tests.server.load.curves import levels, walk

OPEN = LoadSettings(last_level=64.0)
CLOSED = LoadSettings(arrivals=Arrivals.CLOSED, last_level=64.0)


def test_the_load_doubles_narrows_down_goes_past_and_comes_back() -> None:
    """In this order, so that the way back follows the worst load at once."""
    results = walk(OPEN, lambda level: min(level, 10.0))
    assert levels(results, Phase.RAMP) == [1, 2, 4, 8, 16]
    assert levels(results, Phase.SEARCH) == [11.3, 13.4, 9.51], "11.3 still holds, with nine turns of ten"
    knee = knee_of(OPEN, results)
    assert knee is not None
    assert knee.level == pytest.approx(10, rel=0.1)
    assert levels(results, Phase.PAST) == [pytest.approx(factor * knee.level, rel=0.01) for factor in (2, 4)]
    assert levels(results, Phase.BACK) == [knee.level]
    assert [result.step.is_fresh for result in results[-4:]] == [True, False, False, False]


def test_nothing_is_offered_past_a_knee_that_was_not_found() -> None:
    """Nobody asked for more than --to, and there is nothing to come back to."""
    results = walk(OPEN, lambda level: level)
    assert levels(results, Phase.RAMP) == [1, 2, 4, 8, 16, 32, 64]
    assert len(results) == 7


def test_a_server_that_fails_at_once_is_left_alone() -> None:
    """One step says it; more load would only hurt."""
    assert len(walk(OPEN, lambda level: 0.0)) == 1


def test_callers_are_whole() -> None:
    """Half a caller cannot be made; the search ends when no whole level is left between."""
    results = walk(CLOSED, lambda level: min(level, 3.0))
    assert levels(results, Phase.RAMP) == [1, 2, 4, 8]
    assert all(result.step.level == int(result.step.level) for result in results)


@given(capacity=st.floats(2, 60), collapse=st.floats(0, 1), arrivals=st.sampled_from(Arrivals))
def test_every_plan_ends_near_the_knee(capacity: float, collapse: float, arrivals: Arrivals) -> None:
    """Whatever lies behind the top; callers are whole, so that a small knee is found less closely."""
    settings = LoadSettings(arrivals=arrivals, last_level=256.0)
    results = walk(settings, lambda level: level if level <= capacity else capacity * collapse)
    knee = knee_of(settings, results)
    assert knee is not None
    assert knee.is_reached
    assert 0.7 * capacity - 1 <= knee.level <= 1.2 * capacity + 1


@given(rate=st.floats(0.1, 500), seed=st.integers(0, 1000), length=st.floats(0.5, 8))
def test_open_arrivals_keep_to_their_rate_and_never_go_back(rate: float, seed: int, length: float) -> None:
    """Drawn ahead of time, no answer can hold them up (coordinated omission); no window has more of them by chance."""
    times = list(arrivals(rate, [1.0, length, length], random.Random(seed)))
    assert all(one <= other for one, other in pairwise(times))
    inside = [time for time in times if 1.0 <= time < 1.0 + length]
    assert abs(len(inside) - rate * length) <= 1
    assert abs(len(times) - rate * (1 + 2 * length)) <= 1


def test_open_arrivals_come_by_chance_and_not_by_the_clock() -> None:
    """Gaps have the spread of independent users (their deviation is their mean), so that bursts are in it."""
    gaps = [later - earlier for earlier, later in pairwise(arrivals(100.0, [60.0], random.Random(3)))]
    assert stdev(gaps) == pytest.approx(mean(gaps), rel=0.1)


def test_the_same_seed_gives_the_same_arrivals() -> None:
    """Two servers can then be compared under one load."""
    one, other = (list(arrivals(5.0, [4.0], random.Random(3))) for _ in range(2))
    assert one == other
