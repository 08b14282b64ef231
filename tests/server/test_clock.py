"""The machine's clock and the one that tests turn keep one contract."""

import asyncio

from headworks.server.clock import SystemClock
from tests.contracts.clock import check_clock
from tests.fakes.clocks import HandClock


async def test_the_systems_clock_keeps_the_contract() -> None:
    """Its time passes by itself."""
    await check_clock(SystemClock(), asyncio.sleep)


async def test_the_clock_that_is_turned_by_hand_keeps_the_contract() -> None:
    """A fake that behaved otherwise would prove nothing about deadlines."""
    clock = HandClock()

    async def passes(seconds: float) -> None:
        await asyncio.sleep(0)
        clock.turn(seconds)

    await check_clock(clock, passes)
