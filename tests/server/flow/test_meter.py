"""The meter: what tenants have spent, and whether they may spend more."""

import pytest

from headworks.policy.verdict import Obligations
from headworks.server.flow.errors import TooMany
from headworks.server.flow.meter import Meter
from headworks.server.state.memory import MemoryState
from headworks.server.state.settings import StateSettings
from tests.fakes.clocks import HandClock


def meter_for(max_tenants: int, clock: HandClock) -> Meter:
    return Meter(MemoryState(StateSettings(), clock), max_tenants, longest_turn_seconds=600)


async def spend(meter: Meter, tenant: str, obligations: Obligations, tokens_in: int, tokens_out: int) -> None:
    """Run one turn of these sizes."""
    await meter.admit(tenant, obligations)
    async with meter.reserve(tenant, obligations, tokens_out) as spending:
        await spending.charge_input(tokens_in)
        spending.charge_output(tokens_out)


async def test_tokens_per_minute_are_held_to_and_refill() -> None:
    """The refusal says when there is room, and there is room then."""
    clock = HandClock()
    meter = meter_for(10, clock)
    obligations = Obligations(tokens_per_minute=60)
    await spend(meter, "a", obligations, 70, 20)
    with pytest.raises(TooMany, match=r"obligations\.tokens_per_minute") as refusal:
        await meter.admit("a", obligations)
    clock.time += refusal.value.retry_after_seconds
    await meter.admit("a", obligations)


async def test_turns_that_start_together_overdraw_by_one_turn_at_most() -> None:
    """Fifty turns over a budget of 400 tokens would all pass if the budget were looked at only before they began.

    Each is admitted before any of them has spent anything, as calls that arrive together are.
    """
    meter, obligations = meter_for(10, HandClock()), Obligations(tokens_per_minute=400)
    most_of_one = 50 + 256
    for _ in range(50):
        await meter.admit("a", obligations)
    running, refused = [], 0
    for _ in range(50):
        reservation = meter.reserve("a", obligations, 256)
        try:
            running.append((reservation, await reservation.__aenter__()))
        except TooMany:
            refused += 1
    for _, spending in running:
        try:
            await spending.charge_input(50)
        except TooMany:
            refused += 1
            continue
        spending.charge_output(256)
    for reservation, _ in running:
        await reservation.__aexit__(None, None, None)
    totals = meter.totals("a")
    assert totals.input_tokens + totals.output_tokens <= 400 + most_of_one
    assert refused >= 48


async def test_reservation_comes_back_when_the_turn_says_less() -> None:
    """A ceiling is what a turn may say, not what it said."""
    meter, obligations = meter_for(10, HandClock()), Obligations(tokens_per_minute=400)
    async with meter.reserve("a", obligations, 390) as spending:
        await spending.charge_input(5)
        async with meter.reserve("a", obligations, 10):
            with pytest.raises(TooMany):
                await meter.admit("a", obligations)
        spending.charge_output(3)
        assert [left.remaining for left in await spending.remaining(3)] == [392]
    await meter.admit("a", obligations)


async def test_turns_per_minute_are_held_to() -> None:
    """One tenant's turns do not count against another's."""
    meter = meter_for(10, HandClock())
    obligations = Obligations(turns_per_minute=1)
    await meter.admit("a", obligations)
    await meter.admit("b", obligations)
    with pytest.raises(TooMany, match=r"obligations\.turns_per_minute"):
        await meter.admit("a", obligations)


async def test_no_rate_means_no_refusal() -> None:
    """A tenant without a budget is never refused for one (litellm#20615)."""
    meter = meter_for(10, HandClock())
    await spend(meter, "a", Obligations(), 10**9, 0)
    await meter.admit("a", Obligations())
    async with meter.reserve("a", Obligations(), 1) as spending:
        assert await spending.remaining(0) == ()
    assert meter.totals("a").input_tokens == 10**9


async def test_meter_keeps_a_bounded_number_of_tenants() -> None:
    """The tenant seen longest ago makes room."""
    meter = meter_for(2, HandClock())
    for tenant in ("a", "b", "c"):
        await spend(meter, tenant, Obligations(), 1, 0)
    assert (meter.totals("c").input_tokens, meter.totals("a").input_tokens) == (1, 0)


@pytest.mark.parametrize("per_minute", [3, 7, 49])
async def test_whoever_waits_as_told_is_let_in(per_minute: int) -> None:
    """Sums of fractions fall short by a hair, and a wait of no time at all would be told again."""
    clock = HandClock()
    clock.time = 12345.678
    meter, obligations = meter_for(10, clock), Obligations(turns_per_minute=per_minute)
    for _ in range(100):
        try:
            await meter.admit("a", obligations)
        except TooMany as refusal:
            clock.time += refusal.retry_after_seconds
            await meter.admit("a", obligations)
        clock.time += 0.1


async def test_a_long_turn_is_charged_against_the_minute_that_is_now() -> None:
    """What refilled while it ran is the tenant's again."""
    clock = HandClock()
    meter, obligations = meter_for(10, clock), Obligations(tokens_per_minute=400)
    async with meter.reserve("a", obligations, 10) as spending:
        for _ in range(10):
            await spending.charge_input(300)
            clock.time += 60


async def test_a_tenant_whose_turn_runs_is_not_forgotten() -> None:
    """Its tokens would be booked on a line that nobody reads."""
    meter, obligations = meter_for(1, HandClock()), Obligations(tokens_per_minute=400)
    async with meter.reserve("a", obligations, 300) as spending:
        await meter.admit("b", obligations)
        await spending.charge_input(5)
    assert meter.totals("a").input_tokens == 5
