"""Whole runs in virtual time, against servers that are made of a queue."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.virtual_time import LoopClock, run_in_virtual_time
from headworks.server.load.findings import Findings, Met, findings_of
from headworks.server.load.gauges import NoGauges
from headworks.server.load.mix import Mix, Tenant, Turn
from headworks.server.load.notes import Notes
from headworks.server.load.session import End, Run, Session
from headworks.server.load.settings import Arrivals, LoadSettings
from headworks.server.load.step import Phase, StepResult
from headworks.server.load.tally import Ending, State

CLOCK = LoopClock()
SHORT = LoadSettings(
    first_level=2.0, last_level=64.0, warm_up_seconds=1.0, window_seconds=10.0, deadline_seconds=2.0, max_seconds=3600.0
)
MIX = (Tenant("light", 1.0), Tenant("heavy", 3.0))


class Service:
    """Serves some turns at once, half a second each; the rest wait for their deadline, or are refused by a limit."""

    def __init__(self, places: int, longest_line: int | None = None) -> None:
        self.places = asyncio.Semaphore(places)
        self.longest_line = longest_line
        self.waiting = 0
        self.running = 0
        self.most_open = 0
        self.open_at_start: list[int] = []
        """Turns that were open when a step sent its first one."""
        self.is_new_step = True

    async def send(self, turn: Turn, due: float, notes: Notes) -> float:
        notes.tried()
        if self.is_new_step:
            self.open_at_start.append(self.waiting + self.running)
            self.is_new_step = False
        if self.longest_line is not None and self.places.locked() and self.waiting >= self.longest_line:
            await asyncio.sleep(0.001)
            notes.refused("flow.max_waiting", 0.001)
            notes.ended(Ending(State.REFUSED, "flow.max_waiting"))
            return 1.0
        self.waiting += 1
        self.most_open = max(self.most_open, self.waiting + self.running)
        try:
            async with asyncio.timeout_at(due + SHORT.deadline_seconds):
                await self._serve(turn, due, notes)
        except TimeoutError:
            notes.ended(Ending(State.LATE))
        return 0.0

    async def _serve(self, turn: Turn, due: float, notes: Notes) -> None:
        try:
            await self.places.acquire()
        finally:
            self.waiting -= 1
        self.running += 1
        try:
            await asyncio.sleep(0.1)
            notes.first_token(CLOCK.now() - due)
            await asyncio.sleep(0.4)
            notes.ended(Ending(State.FINISHED, tokens=8, prompt_tokens=32))
        finally:
            self.running -= 1
            self.places.release()


class Collapsing(Service):
    """A server that gives each turn less of itself the more turns are open, as one without limits does."""

    async def _serve(self, turn: Turn, due: float, notes: Notes) -> None:
        self.waiting -= 1
        self.running += 1
        try:
            while self.running > 10:  # noqa: ASYNC110  # the time that it has is virtual
                await asyncio.sleep(0.1)
            await asyncio.sleep(0.5)
            notes.first_token(CLOCK.now() - due)
            notes.ended(Ending(State.FINISHED, tokens=8))
        finally:
            self.running -= 1


def run(
    make: Callable[[], Service],
    settings: LoadSettings = SHORT,
    *,
    stop_after: float | None = None,
    gauges: "FullLine | None" = None,
) -> tuple[Run, Service]:
    """Run a session to its end."""

    async def work() -> tuple[Run, Service]:
        service = make()

        def begin_step(_: StepResult) -> None:
            service.is_new_step = True

        session = Session(settings, Mix(MIX, settings.seed), service, CLOCK, gauges, on_result=begin_step)
        if stop_after is not None:
            asyncio.get_running_loop().call_later(stop_after, session.stop)
        seen = await session.run()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not others, "a run leaves nothing behind"
        return seen, service

    return run_in_virtual_time(work())


def found(make: Callable[[], Service], settings: LoadSettings = SHORT) -> Findings:
    return findings_of(run(make, settings)[0], settings)


def test_the_knee_of_a_queue_is_its_capacity() -> None:
    """Ten places of half a second serve twenty turns a second."""
    findings = found(lambda: Service(places=10))
    assert findings.knee is not None
    assert findings.knee.is_reached
    assert findings.knee.level == pytest.approx(20, rel=0.2)


def test_a_line_without_a_limit_is_told_as_late_turns() -> None:
    """No limit refuses: turns wait until they are worth nothing."""
    findings = found(lambda: Service(places=10))
    assert findings.first_limit is not None
    assert findings.first_limit.met is Met.DEADLINE
    assert all(past.refused_share == 0 for past in findings.past)


def test_a_limit_that_refuses_is_named_and_keeps_the_goodput() -> None:
    """That is what the limit is for: at four times the load the accepted work is still served."""
    findings = found(lambda: Service(places=10, longest_line=5))
    assert findings.first_limit is not None
    assert (findings.first_limit.met, findings.first_limit.name) == (Met.REFUSAL, "flow.max_waiting")
    twice, four, back = findings.past
    assert [past.phase for past in findings.past] == [Phase.PAST, Phase.PAST, Phase.BACK]
    assert four.goodput_share > 0.95
    assert four.refused_share > twice.refused_share > 0.3
    assert back.good_share > four.good_share
    assert findings.recovery_seconds is not None


def test_a_collapse_is_seen_past_the_knee() -> None:
    """At twice the critical load this server finishes next to nothing."""
    findings = found(lambda: Collapsing(places=1))
    assert findings.knee is not None
    assert findings.past[1].goodput_share < 0.2
    assert findings.past[1].late_share > 0.8


def test_callers_who_wait_find_the_places() -> None:
    """With closed arrivals the knee is the number of turns served at once."""
    findings = found(lambda: Service(places=8), replace(SHORT, arrivals=Arrivals.CLOSED, first_level=1.0))
    assert findings.knee is not None
    assert findings.knee.level == pytest.approx(8, abs=1)


def test_each_level_on_the_way_up_begins_on_an_idle_server() -> None:
    """What a level left behind is not the next one's; past the knee and back the load never pauses."""
    seen, service = run(lambda: Service(places=10))
    for result, open_turns in zip(seen.results, service.open_at_start, strict=True):
        if result.step.is_fresh:
            assert open_turns == 0
    assert min(service.open_at_start[-2:]) > 0


def test_each_window_has_as_many_turns_as_its_rate_says() -> None:
    """By chance another one may have a fifth fewer, which would read as a server that did not recover."""
    seen, _ = run(lambda: Service(places=10, longest_line=5))
    for result in seen.results:
        assert abs(result.figures.offered - result.step.level * SHORT.window_seconds) <= 1


def test_latency_counts_from_when_a_turn_was_due() -> None:
    """A queue's wait is in it, however late this client could send (coordinated omission)."""
    seen, _ = run(lambda: Service(places=10))
    first, past = seen.results[0].figures, next(one.figures for one in seen.results if one.step.phase is Phase.PAST)
    assert first.first_token_p99 == pytest.approx(0.1, rel=0.02)
    assert past.first_token_p50 is not None
    assert past.first_token_p50 > 1.0


@settings(max_examples=10, deadline=None)
@given(
    places=st.integers(1, 12),
    line=st.none() | st.integers(0, 5),
    arrivals=st.sampled_from(Arrivals),
    stop_after=st.none() | st.floats(0.1, 90),
    max_turns=st.integers(1, 3000),
)
def test_every_turn_ends_in_exactly_one_state(
    places: int, line: int | None, arrivals: Arrivals, stop_after: float | None, max_turns: int
) -> None:
    """However the run ends, nothing is silent and nothing is counted twice."""
    settings = replace(SHORT, arrivals=arrivals, max_turns=max_turns, first_level=4.0)
    seen, service = run(lambda: Service(places, line), settings, stop_after=stop_after)
    for figures in (seen.total, *(result.figures for result in seen.results)):
        assert figures.offered == sum(figures.counts.values())
    for result in seen.results:
        assert sum(figures.offered for _, figures in result.tenants) == result.figures.offered
        if result.is_whole:
            assert result.figures.counts[State.CUT] == 0, "a whole step has waited for its own turns"
    assert seen.total.offered <= max_turns
    assert service.running == service.waiting == 0


def test_a_run_that_is_stopped_tells_what_it_has_seen() -> None:
    """Ctrl-C in the second step: the first is whole, the second is marked."""
    seen, _ = run(lambda: Service(places=10), stop_after=17.0)
    assert seen.end is End.INTERRUPTED
    assert [result.is_whole for result in seen.results] == [True, False]
    assert seen.results[1].seconds == pytest.approx(17.0 - seen.results[1].started_seconds)
    assert seen.total.counts[State.CUT] > 0


@pytest.mark.parametrize(
    ("bound", "end"), [({"max_turns": 100}, End.MAX_TURNS), ({"max_seconds": 30.0}, End.MAX_SECONDS)]
)
def test_a_run_ends_at_its_bounds(bound: dict[str, float], end: End) -> None:
    """A probe that is forgotten does not load a service for ever."""
    seen, _ = run(lambda: Service(places=10), replace(SHORT, **bound))  # type: ignore[arg-type]
    assert seen.end is end
    assert seen.total.offered <= 100 if end is End.MAX_TURNS else seen.seconds == pytest.approx(30.0, abs=0.01)


def test_turns_over_the_clients_own_bound_are_counted_as_unsent() -> None:
    """They were due, and a server that is spared them must not look better for it."""
    settings = replace(SHORT, max_open_turns=5, first_level=16.0)
    seen, service = run(lambda: Service(places=100), settings)
    assert service.most_open == 5
    assert seen.results[0].figures.counts[State.UNSENT] > 0
    assert seen.results[0].is_client_limit
    findings = findings_of(seen, settings)
    assert findings.client_limited == (16.0,)


def test_a_sender_that_breaks_ends_the_run() -> None:
    """An error that is not a turn's end is this program's, and must be seen."""

    class Broken(Service):
        async def send(self, turn: Turn, due: float, notes: Notes) -> float:
            raise LookupError("a mistake of ours")

    with pytest.raises(LookupError):
        run(lambda: Broken(1))


class FullLine:
    """Gauges that show a line, and cannot be read each second time."""

    def __init__(self) -> None:
        self.reads = 0

    async def read(self) -> Mapping[str, float]:
        self.reads += 1
        if self.reads % 2 == 0:
            raise NoGauges("busy")
        return {"headworks_turns_waiting": 3.0}


def test_gauges_are_read_beside_the_load_and_failed_reads_are_counted() -> None:
    """A server under load may have no time for them; that is told, and ends nothing."""
    gauges = FullLine()
    seen, _ = run(lambda: Service(places=10), gauges=gauges)
    assert seen.results[0].gauges == {"headworks_turns_waiting": 3.0}
    assert (seen.gauge_reads, seen.failed_gauge_reads) == (gauges.reads, gauges.reads // 2)
