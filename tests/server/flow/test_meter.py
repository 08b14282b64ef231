"""The meter: what tenants have spent, and whether they may spend more."""

import asyncio
from dataclasses import replace

import pytest

from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.verdict import Obligations
from headworks.server.flow.allowance import Allowance
from headworks.server.flow.errors import TooMany
from headworks.server.flow.meter import Meter
from headworks.server.state.memory import MemoryState
from headworks.server.state.settings import StateSettings
from tests.fakes.clocks import HandClock


def caller(tenant: str, subject: str = "s") -> Caller:
    return Caller(tenant, subject, AuthenticatedBy.API_KEY)


def meter_for(max_tenants: int, clock: HandClock) -> Meter:
    return Meter(MemoryState(StateSettings(), clock), max_tenants, longest_turn_seconds=600)


async def spend(meter: Meter, tenant: str, obligations: Obligations, tokens_in: int, tokens_out: int) -> None:
    """Run one turn of these sizes."""
    await meter.admit(caller(tenant), obligations)
    async with meter.reserve(caller(tenant), obligations, tokens_out) as spending:
        await spending.charge_input(tokens_in)
        spending.charge_output(tokens_out)


async def test_tokens_per_minute_are_held_to_and_refill() -> None:
    """The refusal says when there is room, and there is room then."""
    clock = HandClock()
    meter = meter_for(10, clock)
    obligations = Obligations(tokens_per_minute=60)
    await spend(meter, "a", obligations, 70, 20)
    with pytest.raises(TooMany, match=r"obligations\.tokens_per_minute") as refusal:
        await meter.admit(caller("a"), obligations)
    clock.time += refusal.value.retry_after_seconds
    await meter.admit(caller("a"), obligations)


async def test_turns_that_start_together_overdraw_by_one_turn_at_most() -> None:
    """Fifty turns over a budget of 400 tokens would all pass if the budget were looked at only before they began.

    Each is admitted before any of them has spent anything, as calls that arrive together are.
    """
    meter, obligations = meter_for(10, HandClock()), Obligations(tokens_per_minute=400)
    most_of_one = 50 + 256
    for _ in range(50):
        await meter.admit(caller("a"), obligations)
    running, refused = [], 0
    for _ in range(50):
        reservation = meter.reserve(caller("a"), obligations, 256)
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
    async with meter.reserve(caller("a"), obligations, 390) as spending:
        await spending.charge_input(5)
        async with meter.reserve(caller("a"), obligations, 10):
            with pytest.raises(TooMany):
                await meter.admit(caller("a"), obligations)
        spending.charge_output(3)
        assert [left.remaining for left in await spending.remaining(3)] == [392]
    await meter.admit(caller("a"), obligations)


async def test_turns_per_minute_are_held_to() -> None:
    """One tenant's turns do not count against another's."""
    meter = meter_for(10, HandClock())
    obligations = Obligations(turns_per_minute=1)
    await meter.admit(caller("a"), obligations)
    await meter.admit(caller("b"), obligations)
    with pytest.raises(TooMany, match=r"obligations\.turns_per_minute"):
        await meter.admit(caller("a"), obligations)


async def test_no_rate_means_no_refusal() -> None:
    """A tenant without a budget is never refused for one (litellm#20615)."""
    meter = meter_for(10, HandClock())
    await spend(meter, "a", Obligations(), 10**9, 0)
    await meter.admit(caller("a"), Obligations())
    async with meter.reserve(caller("a"), Obligations(), 1) as spending:
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
            await meter.admit(caller("a"), obligations)
        except TooMany as refusal:
            clock.time += refusal.retry_after_seconds
            await meter.admit(caller("a"), obligations)
        clock.time += 0.1


async def test_a_long_turn_is_charged_against_the_minute_that_is_now() -> None:
    """What refilled while it ran is the tenant's again."""
    clock = HandClock()
    meter, obligations = meter_for(10, clock), Obligations(tokens_per_minute=400)
    async with meter.reserve(caller("a"), obligations, 10) as spending:
        for _ in range(10):
            await spending.charge_input(300)
            clock.time += 60


async def test_a_tenant_whose_turn_runs_is_not_forgotten() -> None:
    """Its tokens would be booked on a line that nobody reads."""
    meter, obligations = meter_for(1, HandClock()), Obligations(tokens_per_minute=400)
    async with meter.reserve(caller("a"), obligations, 300) as spending:
        await meter.admit(caller("b"), obligations)
        await spending.charge_input(5)
    assert meter.totals("a").input_tokens == 5


DAY = 86_400.0
RATES = {"second": 1.0, "minute": 60.0, "day": DAY}


@pytest.mark.parametrize("what", ["turns", "tokens"])
@pytest.mark.parametrize("period", RATES)
async def test_every_rate_is_held_to_and_named(what: str, period: str) -> None:
    """A limiter that is built and never asked holds nobody (litellm#27381); the wait is true, for a day in hours."""
    clock, name = HandClock(), f"{what}_per_{period}"
    meter, obligations = meter_for(10, clock), Obligations(**{name: 4})
    for _ in range(4):
        await spend(meter, "a", obligations, 1, 0)
    with pytest.raises(TooMany) as refusal:
        await meter.admit(caller("a"), obligations)
    assert (refusal.value.limit, refusal.value.allowed) == (f"obligations.{name}", 4)
    assert refusal.value.retry_after_seconds == pytest.approx(RATES[period] / 4)
    clock.turn(refusal.value.retry_after_seconds)
    await meter.admit(caller("a"), obligations)


async def test_a_refused_turn_takes_nothing_of_its_other_rates() -> None:
    """Else a tenant that knocks once a second would have no day left when its minute has room."""
    clock = HandClock()
    meter, obligations = meter_for(10, clock), Obligations(turns_per_minute=1, turns_per_day=10)
    left = await meter.admit(caller("a"), obligations)
    for _ in range(50):
        with pytest.raises(TooMany, match=r"obligations\.turns_per_minute"):
            await meter.admit(caller("a"), obligations)
    clock.turn(60.0)
    again = await meter.admit(caller("a"), obligations)
    assert [(one.limit, one.remaining) for one in left] == [
        ("obligations.turns_per_minute", 0),
        ("obligations.turns_per_day", 9),
    ]
    assert [one.remaining for one in again] == [0, 8]


async def test_the_longest_wait_is_told() -> None:
    """Whoever came back after a second would be refused for the day."""
    meter, obligations = meter_for(10, HandClock()), Obligations(turns_per_second=1, turns_per_day=1)
    await meter.admit(caller("a"), obligations)
    with pytest.raises(TooMany, match=r"obligations\.turns_per_day") as refusal:
        await meter.admit(caller("a"), obligations)
    assert refusal.value.retry_after_seconds == pytest.approx(DAY)


async def test_fifty_tasks_share_one_budget_to_the_token() -> None:
    """Each reserves 20 of 400 tokens: twenty run, and thirty are told to come back."""
    meter, obligations = meter_for(10, HandClock()), Obligations(tokens_per_day=400)
    ended, running = asyncio.Event(), 0

    async def turn() -> None:
        nonlocal running
        async with meter.reserve(caller("a"), obligations, 20) as spending:
            running += 1
            await ended.wait()
            await spending.charge_input(5)
            spending.charge_output(10)

    tasks = [asyncio.create_task(turn()) for _ in range(50)]
    while sum(task.done() for task in tasks) + running < 50:  # noqa: ASYNC110
        await asyncio.sleep(0)
    assert running == 20
    ended.set()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert sum(isinstance(outcome, TooMany) for outcome in outcomes) == 30
    (left,) = await meter.admit(caller("a"), obligations)
    assert left.remaining == 400 - 20 * 15
    assert (meter.totals("a").input_tokens, meter.totals("a").output_tokens) == (100, 200)


async def test_only_so_many_turns_run_at_once() -> None:
    """However a turn ends, its place is free again: here one is cancelled."""
    meter, obligations = meter_for(10, HandClock()), Obligations(max_concurrent_turns=1)

    async def turn() -> None:
        async with meter.reserve(caller("a"), obligations, 1):
            await asyncio.Event().wait()

    first = asyncio.create_task(turn())
    await asyncio.sleep(0)
    with pytest.raises(TooMany, match=r"obligations\.max_concurrent_turns"):
        async with meter.reserve(caller("a"), obligations, 1):
            pass
    async with meter.reserve(caller("b"), obligations, 1):
        first.cancel()
        await asyncio.wait([first])
    async with meter.reserve(caller("a"), obligations, 1):
        pass


async def test_a_turn_that_runs_is_not_ended_for_a_second() -> None:
    """A prompt of more than a second's tokens could never be sent; it delays the next turn."""
    clock = HandClock()
    meter, obligations = meter_for(10, clock), Obligations(tokens_per_second=50)
    async with meter.reserve(caller("a"), obligations, 10) as spending:
        for _ in range(10):
            await spending.charge_input(100)
        spending.charge_output(10)
    with pytest.raises(TooMany, match=r"obligations\.tokens_per_second") as refusal:
        await meter.admit(caller("a"), obligations)
    assert refusal.value.retry_after_seconds == pytest.approx((1010 - 50 + 1) / 50)


async def test_a_rate_of_each_subject_is_not_its_neighbours() -> None:
    """A budget of the end user that only counted the tenant held nobody, or everybody (litellm#11083)."""
    meter, obligations = meter_for(10, HandClock()), Obligations(tokens_per_day=10, per_subject=True)
    async with meter.reserve(caller("a", "ann"), obligations, 10) as spending:
        spending.charge_output(10)
    with pytest.raises(TooMany, match=r"obligations\.tokens_per_day"):
        await meter.admit(caller("a", "ann"), obligations)
    await meter.admit(caller("a", "bob"), obligations)
    assert meter.totals("a").turns == 1


async def test_a_caller_of_little_trust_cannot_use_up_the_others_rate() -> None:
    """A step of trust is a rate of its own, in both directions."""
    meter, trusted, tight = meter_for(10, HandClock()), Obligations(turns_per_day=9), Obligations(turns_per_day=2)
    for _ in range(2):
        await meter.admit(caller("a"), tight)
    with pytest.raises(TooMany):
        await meter.admit(caller("a"), tight)
    (left,) = await meter.admit(caller("a"), trusted)
    assert left.remaining == 8


async def test_what_is_left_says_when_it_is_full() -> None:
    """Whoever paces itself needs the rate, the rest and the time (aigw#1754)."""
    clock = HandClock()
    meter, obligations = meter_for(10, clock), Obligations(tokens_per_day=864)
    async with meter.reserve(caller("a"), obligations, 100) as spending:
        await spending.charge_input(64)
        (left,) = await spending.remaining(36)
        spending.charge_output(36)
    assert left == Allowance("obligations.tokens_per_day", 864, 764, pytest.approx(10_000))
    clock.turn(left.full_in_seconds)
    (full,) = await meter.admit(caller("a"), obligations)
    assert (full.remaining, full.full_in_seconds) == (864, 0.0)


CUT = Obligations(tokens_per_minute=100, tokens_per_second=50, cut_answers=True)


async def test_no_more_is_left_than_is_allowed() -> None:
    """A bucket that has filled up while a turn ran is not made fuller by what the turn gives back."""
    clock = HandClock()
    meter, obligations = meter_for(10, clock), Obligations(tokens_per_minute=600)
    async with meter.reserve(caller("a"), obligations, 100) as spending:
        clock.time += 60
        assert [left.remaining for left in await spending.remaining(10)] == [600]


async def test_a_cut_answer_has_what_is_left_and_no_minute_is_overdrawn() -> None:
    """A limit that was applied after the stream let each stream exceed it (aigw#2394)."""
    meter = meter_for(10, HandClock())
    async with meter.reserve(caller("a"), CUT, 500) as spending:
        assert spending.answer_tokens == 100
        await spending.charge_input(30)
        assert spending.answer_tokens == 70
        with pytest.raises(TooMany, match=r"obligations\.tokens_per_minute"):
            await spending.charge_input(70)
        spending.charge_output(69)
        assert [left.remaining for left in await spending.remaining(69)] == [0, 1]


async def test_the_prompt_of_a_cut_turn_is_paid_from_what_nobody_has_reserved() -> None:
    """An answer is shortened only where tokens are short."""
    meter = meter_for(10, HandClock())
    async with meter.reserve(caller("a"), CUT, 60) as spending:
        await spending.charge_input(40)
        assert spending.answer_tokens == 60
        await spending.charge_input(1)
        assert spending.answer_tokens == 59


async def test_cut_turns_that_start_together_spend_what_there_is_and_no_more() -> None:
    """What one of them has reserved is no other's, and what it leaves is there again."""
    meter = meter_for(10, HandClock())
    async with (
        meter.reserve(caller("a"), CUT, 40),
        meter.reserve(caller("a"), replace(CUT, tokens_per_second=None), 90),
    ):
        with pytest.raises(TooMany):
            async with meter.reserve(caller("a"), CUT, 1):
                pass
    async with meter.reserve(caller("a"), CUT, 90) as spending:
        assert spending.answer_tokens == 90


async def test_a_used_up_second_lets_a_cut_turn_wait_and_cuts_nothing() -> None:
    """A second is too short to end a turn for."""
    meter = meter_for(10, HandClock())
    async with meter.reserve(caller("a"), CUT, 60) as spending:
        assert spending.answer_tokens == 60
        with pytest.raises(TooMany, match=r"obligations\.tokens_per_second"):
            async with meter.reserve(caller("a"), CUT, 10):
                pass
