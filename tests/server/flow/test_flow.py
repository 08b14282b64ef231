"""Permits and the meter."""

import asyncio

import pytest

from headworks.policy.verdict import Obligations
from headworks.server.flow.admission import Permits
from headworks.server.flow.errors import Draining, TooMany
from headworks.server.flow.meter import Meter
from headworks.server.flow.settings import FlowSettings
from tests.fakes.clocks import HandClock


async def hold(permits: Permits, until: asyncio.Event) -> None:
    async with permits.hold():
        await until.wait()


async def test_c19_cancelled_turns_give_their_permits_back() -> None:
    """C19: after twice the limit was cancelled, held and waiting ones alike, a new turn passes at once."""
    permits = Permits(FlowSettings(max_turns=2, max_waiting=2))
    turns = [asyncio.create_task(hold(permits, asyncio.Event())) for _ in range(4)]
    await asyncio.sleep(0)
    assert (permits.held, permits.waiting) == (2, 2)
    for turn in turns:
        turn.cancel()
    await asyncio.wait(turns)
    assert (permits.held, permits.waiting) == (0, 0)
    async with asyncio.timeout(1), permits.hold():
        assert permits.held == 1


async def test_full_line_refuses_by_name() -> None:
    """Memory must not grow with callers; the refusal says which limit, and when to come back."""
    permits = Permits(FlowSettings(max_turns=1, max_waiting=0, wait_seconds=2))
    async with permits.hold():
        with pytest.raises(TooMany) as refusal:
            async with permits.hold():
                pass
    assert (refusal.value.limit, refusal.value.retry_after_seconds) == ("flow.max_waiting", 2)


async def test_long_wait_ends_in_a_refusal() -> None:
    """A caller in line hears within a bounded time."""
    permits = Permits(FlowSettings(max_turns=1, max_waiting=1, wait_seconds=0.01))
    async with permits.hold():
        with pytest.raises(TooMany, match=r"flow\.max_turns"):
            async with permits.hold():
                pass
    assert permits.waiting == 0


async def test_d5_drain_refuses_new_turns_and_waits_for_running_ones() -> None:
    """D5: a live stream is finished, a new one is told to go elsewhere."""
    permits = Permits(FlowSettings(max_turns=2))
    done = asyncio.Event()
    running = asyncio.create_task(hold(permits, done))
    await asyncio.sleep(0)
    permits.drain()
    with pytest.raises(Draining):
        async with permits.hold():
            pass
    idle = asyncio.create_task(permits.wait_idle())
    await asyncio.sleep(0)
    assert not idle.done()
    done.set()
    await asyncio.wait_for(idle, 1)
    assert running.done()


def test_tokens_a_minute_are_held_to_and_refill() -> None:
    """The refusal says when there is room, and there is room then."""
    clock = HandClock()
    meter = Meter(10, clock)
    obligations = Obligations(tokens_per_minute=60)
    meter.admit("a", obligations)
    meter.book("a", input_tokens=70, output_tokens=20)
    assert meter.remaining("a", obligations) == 0
    with pytest.raises(TooMany, match=r"obligations\.tokens_per_minute") as refusal:
        meter.admit("a", obligations)
    clock.time += refusal.value.retry_after_seconds
    meter.admit("a", obligations)


def test_turns_a_minute_are_held_to() -> None:
    """One tenant's turns do not count against another's."""
    meter = Meter(10, HandClock())
    obligations = Obligations(turns_per_minute=1)
    meter.admit("a", obligations)
    meter.admit("b", obligations)
    with pytest.raises(TooMany, match=r"obligations\.turns_per_minute"):
        meter.admit("a", obligations)


def test_a21_no_rate_means_no_refusal() -> None:
    """A21: a tenant without a budget is never refused for one."""
    meter = Meter(10, HandClock())
    meter.book("a", input_tokens=10**9)
    meter.admit("a", Obligations())
    assert meter.remaining("a", Obligations()) is None
    assert meter.totals("a").input_tokens == 10**9


def test_meter_keeps_a_bounded_number_of_tenants() -> None:
    """The tenant seen longest ago makes room."""
    meter = Meter(2, HandClock())
    for tenant in ("a", "b", "c"):
        meter.book(tenant, input_tokens=1)
    assert (meter.totals("c").input_tokens, meter.totals("a").input_tokens) == (1, 0)
