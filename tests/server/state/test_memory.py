"""Figures in memory."""

import asyncio
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.server.state.memory import MemoryState
from headworks.server.state.settings import StateSettings
from headworks.server.state.state import Bucket, Granted, Refused, Return, Running, Take
from tests.contracts.state import bucket, check_state
from tests.fakes.clocks import HandClock

KEYS = ("a", "b", "c")
ALLOWED = {"a": 3, "b": 10, "c": 400}
PERIODS = {"a": 1.0, "b": 60.0, "c": 86_400.0}


async def test_memory_keeps_the_contract() -> None:
    """The adapter that the gateway has, in every clause."""
    clock = HandClock()
    await check_state(MemoryState(StateSettings(), clock), clock.turn)


class Model:
    """The same buckets in exact numbers, written as one reads the rule."""

    def __init__(self) -> None:
        self.levels = {key: Fraction(ALLOWED[key]) for key in KEYS}

    def pass_time(self, seconds: float) -> None:
        for key in KEYS:
            flowed = Fraction(seconds) * ALLOWED[key] / Fraction(PERIODS[key])
            self.levels[key] = min(Fraction(ALLOWED[key]), self.levels[key] + flowed)

    def take(self, amounts: dict[str, int]) -> bool:
        if any(self.levels[key] < 1 for key in amounts):
            return False
        for key, amount in amounts.items():
            self.levels[key] -= amount
        return True

    def give_back(self, key: str, amount: int) -> None:
        self.levels[key] = min(Fraction(ALLOWED[key]), self.levels[key] + amount)


amounts = st.dictionaries(st.sampled_from(KEYS), st.integers(0, 500), min_size=1)
quarters = st.integers(0, 400_000).map(lambda number: number / 4)
steps = st.lists(st.one_of(st.lists(amounts, min_size=1, max_size=50), quarters, st.sampled_from(KEYS)), max_size=30)


@given(steps)
def test_levels_are_those_of_exact_arithmetic(walk: list[list[dict[str, int]] | float | str]) -> None:
    """Whatever is taken at once, waited for and given back, by up to fifty callers in one moment."""
    clock, model = HandClock(), Model()
    state = MemoryState(StateSettings(), clock)

    async def run() -> None:
        for step in walk:
            if isinstance(step, float):
                clock.turn(step)
                model.pass_time(step)
            elif isinstance(step, str):
                await state.take([Take(_bucket(step), 0, -(2**53), is_reserved=True)])
                await state.settle([Return(_bucket(step), 5)])
                model.give_back(step, 5)
            else:
                if any(0 < 1 - level < Fraction(1, 1000) for level in model.levels.values()):
                    return  # within what `ROUNDING` forgives
                takes = [[Take(_bucket(key), amount, 1) for key, amount in asked.items()] for asked in step]
                decisions = await asyncio.gather(*(state.take(each) for each in takes))
                granted = [isinstance(decision, Granted) for decision in decisions]
                assert granted == [model.take(asked) for asked in step]
            held = await state.look([_bucket(key) for key in KEYS])
            assert held == pytest.approx([float(model.levels[key]) for key in KEYS], abs=1e-4)

    asyncio.run(run())


def _bucket(key: str) -> Bucket:
    return Bucket(key, ALLOWED[key], PERIODS[key])


async def test_the_key_unseen_for_longest_makes_room() -> None:
    """Memory is bounded by a setting and not by how many tenants there are."""
    state = MemoryState(StateSettings(max_keys=2), HandClock())
    for key in ("old", "new"):
        await state.take([Take(bucket(key), 4, 1)])
    await state.look([bucket("old")])
    await state.take([Take(bucket("third"), 4, 1)])
    assert state.keys == 2
    assert await state.look([bucket("old"), bucket("third")]) == (6.0, 6.0)
    assert await state.look([bucket("new")]) == (10.0,)


async def test_a_key_in_use_is_kept() -> None:
    """A flood of other tenants does not give back what a running turn has reserved."""
    state = MemoryState(StateSettings(max_keys=2), HandClock())
    await state.take([Take(bucket("used"), 4, 1, is_reserved=True)], Running("used", 1, 60.0))
    for number in range(100):
        await state.take([Take(bucket(str(number)), 1, 1)])
    assert await state.look([bucket("used")]) == (6.0,)
    assert isinstance(await state.take([], Running("used", 1, 60.0)), Refused)
    await state.settle([Return(bucket("used"), 4)])
    for number in range(3):
        await state.look([bucket(str(number))])
    assert state.keys == 2


async def test_refused_callers_do_not_grow_the_memory() -> None:
    """A decision that takes nothing still sees a key for the first time."""
    state = MemoryState(StateSettings(max_keys=3), HandClock())
    await state.take([Take(bucket("empty", 1), 1, 1)])
    for number in range(100):
        assert isinstance(await state.take([Take(bucket("empty", 1), 1, 1), Take(bucket(str(number)), 1, 1)]), Refused)
    assert state.keys <= 3


async def test_counts_of_the_dead_are_forgotten() -> None:
    """A lease that ran out is no key in use, so tenants that never come back hold no memory."""
    clock = HandClock()
    state = MemoryState(StateSettings(), clock)
    for number in range(100):
        await state.take([], Running(str(number), 1, 60.0))
    assert state.keys == 100
    clock.turn(60.0)
    await state.take([], Running("new", 1, 60.0))
    assert state.keys == 1
