"""What every `State` must do."""

import asyncio
from collections.abc import Callable

from headworks.server.state.state import Bucket, Granted, Refused, Return, Running, State, Take

PARALLEL = 50


def bucket(key: str, allowed: int = 10, period_seconds: float = 60.0) -> Bucket:
    return Bucket(key, allowed, period_seconds)


async def check_state(state: State, turn_clock: Callable[[float], None]) -> None:
    """Run the contract on one adapter that remembers nothing yet.

    Args:
        turn_clock: Lets so many seconds pass.
    """
    await _fifty_at_once_get_what_there_is(state)
    await _all_is_taken_or_nothing(state)
    await _whoever_waits_as_told_is_granted(state, turn_clock)
    await _an_overdrawn_bucket_makes_others_wait(state)
    await _what_is_returned_can_be_taken(state)
    await _a_bucket_never_holds_more_than_is_allowed(state, turn_clock)
    await _looking_takes_nothing(state)
    await _so_many_run_at_once(state)
    await _a_lease_that_nobody_ends_runs_out(state, turn_clock)


async def _fifty_at_once_get_what_there_is(state: State) -> None:
    for allowed in (1, 7, PARALLEL, 2 * PARALLEL):
        take = Take(bucket(f"parallel {allowed}", allowed), 1, 1)
        decisions = await asyncio.gather(*(state.take([take]) for _ in range(PARALLEL)))
        assert _granted(*decisions) == min(allowed, PARALLEL)


async def _all_is_taken_or_nothing(state: State) -> None:
    wide, narrow = bucket("wide", 10), bucket("narrow", 1)
    both = [Take(wide, 1, 1), Take(narrow, 1, 1)]
    assert _granted(*await asyncio.gather(*(state.take(both) for _ in range(PARALLEL)))) == 1
    assert await state.look([wide, narrow]) == (9.0, 0.0)
    refused = await state.take(both, Running("runs", 1, 60.0))
    assert isinstance(refused, Refused)
    assert refused.lacking == narrow
    assert isinstance(await state.take([], Running("runs", 1, 60.0)), Granted), "the refused one left a lease behind"
    assert isinstance(await state.take([Take(wide, 1, 1)], Running("runs", 1, 60.0)), Refused)
    assert await state.look([wide]) == (9.0,)


async def _whoever_waits_as_told_is_granted(state: State, turn_clock: Callable[[float], None]) -> None:
    for period in (1.0, 60.0, 86_400.0):
        take = Take(bucket(f"patient {period}", 3, period), 1, 1)
        for _ in range(10):
            decision = await state.take([take])
            if isinstance(decision, Refused):
                turn_clock(decision.wait_seconds * 0.9)
                assert isinstance(await state.take([take]), Refused), "the wait was longer than it had to be"
                turn_clock(decision.wait_seconds * 0.1)
                assert isinstance(await state.take([take]), Granted)


async def _an_overdrawn_bucket_makes_others_wait(state: State) -> None:
    shared = bucket("overdrawn", 60)
    assert await state.take([Take(shared, 100, 1)]) == Granted((-40.0,))
    refused = await state.take([Take(shared, 1, 1)])
    assert refused == Refused(shared, 41.0)
    own = await state.take([Take(shared, 5, -59)])
    assert own == Granted((-45.0,)), "who reserved it may spend it"


async def _what_is_returned_can_be_taken(state: State) -> None:
    shared = bucket("returned", 10)
    await state.take([Take(shared, 10, 1, is_reserved=True)])
    assert isinstance(await state.take([Take(shared, 1, 1)]), Refused)
    await state.settle([Return(shared, 7)])
    assert await state.look([shared]) == (7.0,)
    await state.take([Take(shared, 2, 1, is_reserved=True)])
    await state.settle([Return(shared, -3)])
    assert await state.look([shared]) == (2.0,), "more was spent than reserved"


async def _a_bucket_never_holds_more_than_is_allowed(state: State, turn_clock: Callable[[float], None]) -> None:
    shared = bucket("full", 10)
    await state.take([Take(shared, 10, 1, is_reserved=True)])
    turn_clock(1000.0)
    await state.settle([Return(shared, 10)])
    assert await state.look([shared]) == (10.0,)


async def _looking_takes_nothing(state: State) -> None:
    first, second = bucket("seen", 4), bucket("seen too", 5)
    assert await state.look([first, second]) == await state.look([first, second]) == (4.0, 5.0)
    assert await state.look([]) == ()


async def _so_many_run_at_once(state: State) -> None:
    running = Running("at once", 7, 60.0)
    decisions = await asyncio.gather(*(state.take([], running) for _ in range(PARALLEL)))
    leases = [decision.lease for decision in decisions if isinstance(decision, Granted)]
    assert len(set(leases)) == 7
    assert Refused(running, 0.0) in decisions
    for _ in range(2):
        await state.settle([], running.key, leases[0])
    decisions = await asyncio.gather(*(state.take([], running) for _ in range(PARALLEL)))
    assert _granted(*decisions) == 1, "a lease that is ended twice makes room for one"
    assert isinstance(await state.take([], Running("never", 0, 60.0)), Refused)


async def _a_lease_that_nobody_ends_runs_out(state: State, turn_clock: Callable[[float], None]) -> None:
    running = Running("abandoned", 1, 60.0)
    await state.take([], running)
    turn_clock(59.0)
    assert isinstance(await state.take([], running), Refused)
    turn_clock(1.0)
    assert isinstance(await state.take([], running), Granted)


def _granted(*decisions: Granted | Refused) -> int:
    return sum(isinstance(decision, Granted) for decision in decisions)
