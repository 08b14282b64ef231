"""What every clock must do."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from headworks.server.clock import Clock

LONG, SHORT = 1e6, 0.01
"""Seconds: longer than any test, and no longer than one may wait."""


async def check_clock(clock: Clock, passes: Callable[[float], Awaitable[None]]) -> None:
    """Run the contract on one clock.

    Args:
        passes: Lets at least so much of the clock's time pass.
    """
    await _time_goes_on_and_never_back(clock, passes)
    await _a_limit_that_is_not_met_changes_nothing(clock)
    await _a_limit_ends_its_block_and_says_so(clock, passes)
    await _an_inner_timeout_error_is_not_the_limits(clock)
    await _the_limit_that_is_due_first_ends_the_block(clock, passes)
    await _a_cancel_stays_a_cancel(clock)


async def _time_goes_on_and_never_back(clock: Clock, passes: Callable[[float], Awaitable[None]]) -> None:
    before = clock.now()
    await passes(SHORT)
    assert clock.now() >= before + SHORT
    before = clock.now()
    await clock.sleep(SHORT)
    assert clock.now() >= before + SHORT
    await clock.sleep(0)


async def _a_limit_that_is_not_met_changes_nothing(clock: Clock) -> None:
    for seconds in (LONG, None):
        async with clock.timeout(seconds) as limit:
            await asyncio.sleep(0)
        assert not limit.expired()


async def _a_limit_ends_its_block_and_says_so(clock: Clock, passes: Callable[[float], Awaitable[None]]) -> None:
    turning = asyncio.create_task(passes(2 * SHORT))
    with pytest.raises(TimeoutError):
        async with clock.timeout(SHORT) as limit:
            await asyncio.Event().wait()
    assert limit.expired()
    await turning


async def _an_inner_timeout_error_is_not_the_limits(clock: Clock) -> None:
    with pytest.raises(TimeoutError, match="of its own"):
        async with clock.timeout(LONG) as limit:
            raise TimeoutError("of its own")
    assert not limit.expired()


async def _the_limit_that_is_due_first_ends_the_block(clock: Clock, passes: Callable[[float], Awaitable[None]]) -> None:
    turning = asyncio.create_task(passes(2 * SHORT))
    async with clock.timeout(LONG) as outer:
        with pytest.raises(TimeoutError):
            async with clock.timeout(SHORT) as inner:
                await asyncio.Event().wait()
    assert (outer.expired(), inner.expired()) == (False, True)
    await turning


async def _a_cancel_stays_a_cancel(clock: Clock) -> None:
    async def limited() -> None:
        async with clock.timeout(LONG):
            await asyncio.Event().wait()

    task = asyncio.create_task(limited())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
