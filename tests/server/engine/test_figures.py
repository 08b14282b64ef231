"""How busy an engine is, as its own figures say it."""

import asyncio
from typing import Any, NamedTuple

from headworks.server.engine.engine import EngineLoad
from headworks.server.engine.settings import SimulatedSettings
from headworks.server.engine.simulated import SimulatedEngine
from headworks.server.engine.vllm_figures import VllmFigures
from tests.contracts.engine import answer, chunks, open_ended
from tests.fakes.clocks import HandClock


class Cache(NamedTuple):
    """What is read of vLLM's CacheConfig."""

    block_size: int = 128
    num_gpu_blocks: int | None = 100
    kv_cache_size_tokens: int | None = None


class Lookups(NamedTuple):
    """What is read of vLLM's PrefixCacheStats."""

    queries: int
    hits: int


class Step(NamedTuple):
    """What is read of vLLM's SchedulerStats."""

    prefix_cache_stats: Lookups
    num_waiting_reqs: int = 3
    num_skipped_waiting_reqs: int = 1
    kv_cache_usage: float = 0.5


class Outputs(NamedTuple):
    """What is read of vLLM's IterationStats."""

    num_preempted_reqs: int


def step(queried: int, hit: int) -> Any:
    return Step(Lookups(queried, hit))


def outputs(preempted: int) -> Any:
    return Outputs(preempted)


def figures_of(cache: Any) -> VllmFigures:
    figures = VllmFigures()
    figures.started(cache)
    return figures


def test_vllms_figures_of_steps_are_added_up() -> None:
    """Lookups and preemptions are reported a step at a time; an operator asks how many there were in all."""
    figures = figures_of(Cache())
    for _ in range(2):
        figures.record(step(queried=100, hit=60), outputs(preempted=1))
    figures.record(None, outputs(preempted=2))
    figures.record(step(queried=0, hit=0), None)
    assert figures.load(running=5) == EngineLoad(
        running=5,
        waiting=3,
        cache_used=0.5,
        cache_tokens=12_800,
        preemptions=4,
        deferred=1,
        block_tokens=128,
        looked_up_tokens=200,
        reused_tokens=120,
    )


def test_an_idle_engine_has_no_queue_of_its_last_step() -> None:
    """It reports no step when nothing runs, so its last figures would stay for ever; what is counted stays."""
    figures = VllmFigures()
    figures.record(step(queried=10, hit=5), outputs(preempted=1))
    load = figures.load(running=0)
    assert (load.waiting, load.cache_used, load.deferred) == (0, 0.0, 0)
    assert (load.looked_up_tokens, load.reused_tokens, load.preemptions) == (10, 5, 1)


def simulated(clock: HandClock, **settings: int) -> SimulatedEngine:
    made = SimulatedSettings(first_token_seconds=1.0, gap_seconds=1.0, **settings)
    return SimulatedEngine((1, 2, 3), made, clock)


def test_the_caches_size_is_what_vllm_says_where_it_says_it() -> None:
    """Blocks times their size is wrong for models whose layers have caches of several kinds."""
    assert figures_of(Cache(kv_cache_size_tokens=6_400)).load(1).cache_tokens == 6_400
    assert figures_of(Cache(num_gpu_blocks=None)).load(1).cache_tokens == 0
    assert VllmFigures().load(0).cache_tokens == 0


async def test_a_simulated_cache_that_is_too_small_preempts_and_still_answers_all() -> None:
    """As vLLM does: a turn loses its place, waits, and goes on; no token is lost."""
    engine = simulated(HandClock(), cache_tokens=20, answer_tokens=12)
    turns = (answer(engine, str(number), chunks((1,) * 6, ()), ceiling=12) for number in range(4))
    answers = await asyncio.gather(*turns)
    assert [len(tokens) for tokens, _ in answers] == [12] * 4
    load = engine.load()
    assert load.preemptions > 0
    assert (load.running, load.waiting, load.cache_used, load.cache_tokens) == (0, 0, 0.0, 20)


async def test_a_simulated_cache_counts_what_turns_hold() -> None:
    """Prompt and answer so far; those that do not fit wait, and leave the line when their callers go."""
    engine = simulated(HandClock(), cache_tokens=10)
    turn = asyncio.create_task(answer(engine, "first", open_ended((1,) * 8)))
    late = asyncio.create_task(answer(engine, "second", open_ended((1,) * 8)))
    while not engine.load().waiting:  # noqa: ASYNC110  # engines tell no one
        await asyncio.sleep(0)
    assert engine.load().cache_used == 0.8
    assert engine.load().waiting == 1
    late.cancel()
    turn.cancel()
    await asyncio.wait((turn, late))
    assert (engine.load().waiting, engine.load().cache_used, engine.load().preemptions) == (0, 0.0, 0)


async def test_a_turn_larger_than_the_simulated_cache_runs_alone() -> None:
    """Else it would wait for ever."""
    engine = simulated(HandClock(), cache_tokens=4, answer_tokens=8)
    tokens, _ = await asyncio.wait_for(answer(engine, "large", chunks((1,) * 6, (2,))), 5)
    assert len(tokens) == 8
