"""Time as a port, so that tests can turn it by hand."""

import asyncio
import time
from contextlib import AbstractAsyncContextManager
from typing import Protocol


class Clock(Protocol):
    """Monotonic time, and all waiting that depends on it."""

    def now(self) -> float:
        """Return seconds since an arbitrary start."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`; 0 lets others run once."""
        ...

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[asyncio.Timeout]:
        """Limit a block in time, as `asyncio.timeout` does.

        Args:
            seconds: None for no limit.
        Raises:
            TimeoutError: on leaving the block, when the time passed within it; `expired()` of the yielded value is
                then true, which tells it from a TimeoutError that came from within.
        """
        ...


class SystemClock:
    """The machine's own."""

    def now(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[asyncio.Timeout]:
        return asyncio.timeout(seconds)
