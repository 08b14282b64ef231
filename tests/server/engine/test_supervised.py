"""An engine that dies or hangs is replaced, and callers are told when to come back."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.server.engine.engine import EngineRequest, Sampling
from headworks.server.engine.errors import EngineBroken, EngineLost, EngineUnavailable
from headworks.server.engine.settings import EngineSettings
from headworks.server.engine.supervised import EngineNews, SupervisedEngine
from tests.contracts.engine import answer, check_engine, chunks, open_ended, running
from tests.fakes.clocks import HandClock
from tests.fakes.engines import MortalEngine, TalkingEngine
from tests.server.edge import edge, failure_of, turn

SETTINGS = EngineSettings()
DIED, HUNG, START_FAILED, RESTARTED = EngineNews
START_SECONDS = 30.0
PATIENCE_SECONDS = 10.0
"""For what must come; a test fails by it, none passes by it."""


async def nothing() -> None:
    pass


async def reached(holds: Callable[[], bool]) -> None:
    """Return once it holds; the hand clock meanwhile runs as fast as the supervisor looks."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():  # noqa: ASYNC110  # figures tell no one when they change
            await asyncio.sleep(0)


@dataclass(slots=True)
class House:
    """A supervised engine, and all that ever stood behind it."""

    engine: SupervisedEngine
    clock: HandClock
    made: list[MortalEngine]
    news: list[EngineNews] = field(default_factory=list)
    on_news: Callable[[], Awaitable[None]] = nothing
    """What is done at each piece of news, before the supervisor goes on."""

    @property
    def current(self) -> MortalEngine:
        return self.made[-1]

    async def heard(self, *news: EngineNews) -> None:
        """Return once exactly this was told."""
        await reached(lambda: len(self.news) >= len(news))
        assert self.news == list(news)

    async def recovered(self) -> None:
        """Return after the next restart."""
        known = self.news.count(RESTARTED)
        await reached(lambda: self.news.count(RESTARTED) > known)

    async def turned(self, seconds: float) -> None:
        """Return when the supervisor has spent so long."""
        until = self.clock.now() + seconds
        await reached(lambda: self.clock.now() >= until)

    async def take(self, news: EngineNews, why: str) -> None:
        assert why
        assert self.engine.is_healthy() == (news is RESTARTED)
        await self.on_news()
        self.news.append(news)


@asynccontextmanager
async def house(settings: EngineSettings = SETTINGS, can_start: Callable[[int], bool] = bool) -> AsyncIterator[House]:
    """Start an engine under supervision and watch it.

    Args:
        settings: How it is supervised.
        can_start: Says whether the engine of this number starts, the first one being 1.
    """
    clock, made = HandClock(), list[MortalEngine]()

    def make() -> MortalEngine:
        assert all(engine.is_let_go for engine in made), "two engines at once"
        made.append(MortalEngine(start_seconds=START_SECONDS, clock=clock, can_start=can_start(len(made) + 1)))
        return made[-1]

    one = House(SupervisedEngine(make, settings, clock), clock, made)
    await one.engine.start()
    watching = asyncio.create_task(one.engine.watch(one.take))
    try:
        yield one
    finally:
        watching.cancel()
        await asyncio.wait((watching,))
        await one.engine.close()
        assert made[-1].is_let_go


async def test_supervised_engine_keeps_the_contract() -> None:
    """A turn cannot tell whether its engine is supervised."""

    async def make() -> SupervisedEngine:
        engine = SupervisedEngine(lambda: TalkingEngine(64), SETTINGS, HandClock())
        await engine.start()
        return engine

    await check_engine(make, (1, 2, 3, 4, 5))


async def test_dead_engine_is_replaced_and_the_next_turn_is_answered() -> None:
    """Before, the gateway said NOT_SERVING until somebody restarted it by hand."""
    async with house() as one:
        one.current.die()
        assert not one.engine.is_healthy()
        await one.heard(DIED, RESTARTED)
        assert one.engine.is_healthy()
        tokens, _ = await answer(one.engine, "next", chunks((1, 2), ()))
        assert len(tokens) == 4
        assert [len(engine.requests) for engine in one.made] == [0, 1]


async def test_turns_of_a_dead_engine_learn_when_the_next_one_is_there() -> None:
    """The wait before the restart and a start like the last: one second would be asked for in vain thirty times."""
    async with house() as one:
        one.current.may_talk.clear()
        untold = asyncio.create_task(answer(one.engine, "untold", chunks((1, 2), ())))
        await running(one.engine, 1)
        one.current.die()
        with pytest.raises(EngineUnavailable) as failure:
            await untold
        assert 0 <= failure.value.retry_after_seconds - START_SECONDS <= SETTINGS.restart_backoff_seconds


async def test_turns_that_come_during_a_restart_are_refused_at_once() -> None:
    """They would wait for half a minute, and hold what they have sent meanwhile."""
    refusals: list[EngineUnavailable] = []

    async def ask() -> None:
        with pytest.raises(EngineUnavailable) as failure:
            await answer(one.engine, "early", open_ended((1,)))
        refusals.append(failure.value)

    async with house(can_start=lambda number: number != 2) as one:
        one.on_news = ask
        one.current.die()
        await one.heard(DIED, START_FAILED)
        one.on_news = nothing
        await one.heard(DIED, START_FAILED, RESTARTED)
    assert [refusal.retry_after_seconds for refusal in refusals] == [START_SECONDS + 1, START_SECONDS + 2]


async def test_turn_after_its_first_token_is_broken_by_a_death() -> None:
    """Trying again would repeat text."""
    async with house() as one:
        pieces = one.engine.answer(EngineRequest("told", Sampling(8)), chunks((1, 2), ()))
        await anext(pieces)
        one.current.die()
        with pytest.raises(EngineBroken):
            await anext(pieces)
        await one.heard(DIED, RESTARTED)


async def test_hung_engine_is_found_and_its_turns_end() -> None:
    """A stopped process stays alive by every flag; each turn would wait for its stall limit."""
    async with house() as one:
        pieces = one.engine.answer(EngineRequest("told", Sampling(8)), chunks((1, 2), ()))
        await anext(pieces)
        one.current.hang()
        untold = asyncio.create_task(answer(one.engine, "untold", chunks((1, 2), ())))
        await one.heard(HUNG, RESTARTED)
        with pytest.raises(EngineBroken):
            await anext(pieces)
        with pytest.raises(EngineUnavailable):
            await untold
        assert one.engine.is_healthy()


async def test_engine_that_only_gives_tokens_is_not_hung() -> None:
    """A batch may be so busy that a heartbeat waits; the tokens show that it works."""
    async with house() as one:
        one.current.stop_heartbeats()
        until = one.clock.now() + 10 * SETTINGS.heartbeat_timeout_seconds
        while one.clock.now() < until:
            await answer(one.engine, "busy", chunks((1, 2), ()))
            await asyncio.sleep(0)
        assert one.news == []


async def test_slow_heartbeat_is_no_death() -> None:
    """A long prefill holds it up."""
    async with house() as one:
        for _ in range(3):
            one.current.stop_heartbeats()
            await one.turned(SETTINGS.heartbeat_timeout_seconds)
            one.current.answer_heartbeats()
            await asyncio.sleep(0)
        assert one.news == []


async def test_time_in_which_this_process_stood_still_is_no_silence() -> None:
    """A suspended machine or a blocked event loop says nothing about the engine."""
    async with house() as one:
        one.current.stop_heartbeats()
        one.clock.turn(100 * SETTINGS.heartbeat_timeout_seconds)
        await asyncio.sleep(0)
        one.current.answer_heartbeats()
        for _ in range(100):
            await asyncio.sleep(0)
        assert one.news == []


async def test_waits_between_restarts_double_up_to_the_longest() -> None:
    """An engine that cannot start must not eat the machine."""
    settings = EngineSettings(max_restarts=7, restart_backoff_seconds=1.0, max_restart_backoff_seconds=20.0)
    async with house(settings, lambda number: number in (1, 8)) as one:
        died_at = one.clock.now()
        one.current.die()
        await one.heard(DIED, *[START_FAILED] * 6, RESTARTED)
        waits = (1, 2, 4, 8, 16, 20, 20)
        assert one.current.started_at is not None
        spent = one.current.started_at - died_at - 7 * START_SECONDS
        assert sum(waits) <= spent <= sum(waits) + settings.health_seconds


@pytest.mark.parametrize("restarts", [0, 1, 3])
async def test_engine_that_keeps_dying_is_lost(restarts: int) -> None:
    """A supervisor of the whole process can do what this process cannot: another machine, another GPU."""
    clock, made = HandClock(), list[MortalEngine]()

    def make() -> MortalEngine:
        made.append(MortalEngine(clock=clock))
        return made[-1]

    async def kill(news: EngineNews, why: str) -> None:
        made[-1].die()

    engine = SupervisedEngine(make, EngineSettings(max_restarts=restarts), clock)
    await engine.start()
    made[-1].die()
    with pytest.raises(EngineLost, match=f"engine.max_restarts allows {restarts} "):
        await engine.watch(kill)
    assert len(made) == 1 + restarts
    assert not engine.is_healthy()
    await engine.close()


async def test_engine_that_ran_long_starts_a_new_row() -> None:
    """Five deaths in a year are not five deaths in a minute."""
    async with house(EngineSettings(max_restarts=1)) as one:
        for deaths in range(1, 5):
            one.clock.turn(SETTINGS.restart_window_seconds)
            one.current.die()
            await one.heard(*[DIED, RESTARTED] * deaths)


async def test_start_that_takes_too_long_has_failed() -> None:
    """A loader that hangs would keep the gateway out of service for ever, and count as no death."""
    engine = SupervisedEngine(
        lambda: MortalEngine(start_seconds=100.0, clock=clock),
        EngineSettings(max_start_seconds=99.0),
        clock := HandClock(),
    )
    with pytest.raises(EngineUnavailable, match=r"engine\.max_start_seconds allows 99"):
        await engine.start()
    assert not engine.is_healthy()
    await engine.close()


@pytest.mark.parametrize("name", ["health_seconds", "heartbeat_timeout_seconds", "max_restarts"])
def test_settings_below_their_range_stop_the_start(name: str) -> None:
    """A look every 0 seconds, or a limit that passes at once, would be found out while turns run."""
    with pytest.raises(ValueError, match=name):
        EngineSettings(**{name: -1})


async def test_callers_are_told_when_the_engine_will_be_back() -> None:
    """RetryInfo said one second, again and again, for the half minute that a start takes."""
    async with house() as one:

        async def call() -> None:
            failure = await failure_of(server.stub.Converse(iter(turn("Hello"))))
            told.append((failure.reason, failure.retry_after_seconds))

        told: list[tuple[str, float | None]] = []
        async with edge(one.engine) as server:
            one.on_news = call
            one.current.die()
            await one.heard(DIED)
            one.on_news = nothing
            await one.recovered()
    assert told == [("ENGINE_UNAVAILABLE", START_SECONDS + SETTINGS.restart_backoff_seconds)]


async def test_gateway_may_stop_during_a_restart() -> None:
    """The engine that is just being started is let go of too."""
    async with house() as one:
        one.current.die()
        await reached(lambda: len(one.made) == 2)
    assert all(engine.is_let_go for engine in one.made)


@given(st.lists(st.sampled_from(["dies", "hangs", "dies, cannot start", "hangs while fed"]), max_size=5))
def test_every_series_of_faults_ends_in_an_engine_that_answers(faults: list[str]) -> None:
    """Or in one that is lost, but never in two engines, nor in a turn without an end."""

    async def run() -> None:
        cannot_start: set[int] = set()
        settings = EngineSettings(max_restarts=2 * len(faults))
        async with house(settings, lambda number: number not in cannot_start) as one:
            for fault in faults:
                prompt = open_ended((1, 2)) if "fed" in fault else chunks((1, 2), ())
                one.current.may_talk.clear()
                turn = asyncio.create_task(answer(one.engine, "turn", prompt))
                await running(one.engine, 1)
                if "cannot start" in fault:
                    cannot_start.add(len(one.made) + 1)
                (one.current.die if "dies" in fault else one.current.hang)()
                await one.recovered()
                turn.cancel()
                await asyncio.wait((turn,))
                tokens, _ = await answer(one.engine, "next", chunks((1, 2), ()))
                assert len(tokens) == 4

    asyncio.run(run())
