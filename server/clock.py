"""Time as a port, so that tests can turn it by hand."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Monotonic time."""

    def now(self) -> float:
        """Return seconds since an arbitrary start."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`; 0 lets others run once."""
        ...


class SystemClock:
    """The machine's own."""

    def now(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
