"""A limit that finds itself."""

from dataclasses import replace

import pytest

from headworks.server.engine.engine import EngineLoad
from headworks.server.flow.limit import FlowLimit, Pressure
from headworks.server.flow.pace import Pace
from headworks.server.flow.settings import FlowSettings, LimitSettings, PaceSettings
from tests.fakes.clocks import HandClock

LOAD = EngineLoad(running=0, waiting=0, cache_used=0.0, cache_tokens=1000)


class Limited:
    """A limit, with an engine and a process whose state is set by hand."""

    def __init__(self, **settings: float) -> None:
        self.load = LOAD
        self.pace = Pace(PaceSettings(), HandClock())
        flow = FlowSettings(max_turns=100, limit=LimitSettings(first_turns=20, **settings))  # type: ignore[arg-type]
        self.limit = FlowLimit(flow, self.pace, lambda: self.load)

    def look(self, times: int = 1, *, turns: int | None = None, needed: float = 0.0) -> int:
        for _ in range(times):
            self.limit.met_turns()
            self.limit.look(self.limit.turns if turns is None else turns, 0, needed)
        return self.limit.turns

    def late(self, seconds: float) -> None:
        self.pace.lag_seconds = seconds


def test_a_limit_that_is_met_grows_to_its_most_and_no_further() -> None:
    """Without pressure nothing but the setting holds it."""
    assert Limited().look(200) == 100


def test_a_limit_that_nobody_meets_stays() -> None:
    """What was never tried is not known to be served well."""
    limited = Limited()
    limited.limit.look(1, 0, 0.0)
    assert limited.limit.turns == 20


@pytest.mark.parametrize(
    ("pressure", "load", "lag"),
    [(Pressure.LOOP_LAG, LOAD, 1.0), (Pressure.ENGINE_QUEUE, replace(LOAD, waiting=50), 0.0)],
)
def test_pressure_shrinks_it_and_its_end_lets_it_grow_again(pressure: Pressure, load: EngineLoad, lag: float) -> None:
    """A slot that was taken away comes back with the capacity (smg PR#1587)."""
    limited = Limited()
    high = limited.look(10)
    limited.load = load
    limited.late(lag)
    assert limited.look(20) < high / 2
    assert limited.limit.pressure is pressure
    limited.load = LOAD
    limited.late(0.0)
    assert limited.look(30) >= high


def test_late_first_tokens_and_long_gaps_are_pressure_beside_the_engines_own_best() -> None:
    """An engine that is slow by nature makes none; one that has become twice as slow does."""
    for tempo, pressure in (("first_tokens", Pressure.LATE_START), ("gaps", Pressure.SLOW_FLOW)):
        limited = Limited(max_gap_seconds=0.1, max_first_token_seconds=0.1)
        for _ in range(20):
            getattr(limited.limit, tempo).add(3.0)
        limited.look()
        assert limited.limit.pressure is Pressure.NONE
        for _ in range(20):
            getattr(limited.limit, tempo).add(7.0)
        limited.look()
        assert limited.limit.pressure is pressure


def test_it_never_falls_below_its_least_nor_below_what_other_work_makes_late() -> None:
    """Refusals, and calls that say nothing yet, cost time too; fewer turns would only lose work."""
    limited = Limited()
    assert limited.look(50) > 45
    limited.late(1.0)
    assert limited.look(100, needed=45.0) == 45
    assert limited.look(100) == 20
    assert limited.look(100, turns=0) == 20
    limited.load = replace(LOAD, waiting=100)
    limited.late(0.0)
    assert limited.look(100) == LimitSettings().least_turns


def test_a_short_cache_lowers_the_limit_on_tokens() -> None:
    """Turns that lose their place are computed twice (vllm#41951)."""
    limited = Limited()
    before = limited.limit.tokens
    limited.load = replace(LOAD, preemptions=1)
    limited.limit.look(1, 1000, 0.0)
    lowered = limited.limit.tokens
    assert lowered < before
    limited.limit.look(1, 1000, 0.0)
    assert limited.limit.tokens == lowered
    limited.limit.met_tokens()
    limited.limit.look(1, 1000, 0.0)
    assert limited.limit.tokens > lowered


def test_nothing_grows_while_gaps_or_the_cache_are_alarmed() -> None:
    """What is out of its usual range is no ground to let more in."""
    limited = Limited()
    limited.limit.met_turns()
    limited.limit.look(20, 0, 0.0, is_alarmed=True)
    assert limited.limit.turns == 20
