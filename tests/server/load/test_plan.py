"""Which steps are taken against servers whose knee is known, and when turns arrive."""

import random
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.server.load.plan import knee_of, poisson
from headworks.server.load.settings import Arrivals, LoadSettings
from headworks.server.load.step import Phase, Step
from tests.server.load.curves import levels, result, walk

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


def test_chance_in_the_arrivals_does_not_move_the_knee() -> None:
    """In a window of few seconds a tenth more or fewer turns than meant is nothing unusual."""
    results = [
        result(Step(Phase.RAMP, 16.0), 16.0, 16.0),
        result(Step(Phase.RAMP, 32.0), 20.0, 32.0),
        result(Step(Phase.SEARCH, 22.6), 25.0, 27.0),
        result(Step(Phase.SEARCH, 24.0), 23.0, 23.0),
    ]
    knee = knee_of(OPEN, results)
    assert knee is not None
    assert knee.level == 24.0, "it brought less than 22.6 did, but every turn was served"


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


@given(rate=st.floats(0.5, 500), seed=st.integers(0, 1000))
def test_open_arrivals_keep_to_their_rate_and_never_go_back(rate: float, seed: int) -> None:
    """They are drawn ahead of time, so that no answer can hold them up (coordinated omission)."""
    times = list(islice(poisson(rate, random.Random(seed)), 2000))
    assert all(one < other for one, other in pairwise(times))
    assert times[-1] == pytest.approx(2000 / rate, rel=0.15)


def test_the_same_seed_gives_the_same_arrivals() -> None:
    """Two servers can then be compared under one load."""
    one, other = (list(islice(poisson(5.0, random.Random(3)), 20)) for _ in range(2))
    assert one == other
    gaps = [later - earlier for earlier, later in pairwise(one)]
    assert min(gaps) < 0.1 < max(gaps), "they come by chance, not by the clock"
