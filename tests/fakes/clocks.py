"""Clocks by behaviour."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager


class HandClock:
    """Stands still until it is turned. Sleeping turns it; a limit in time passes when it is turned past it."""

    def __init__(self) -> None:
        self.time = 0.0
        self._limits: list[tuple[float, asyncio.Timeout]] = []

    @property
    def limits(self) -> int:
        """Blocks that are limited in time now."""
        return len(self._limits)

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.turn(seconds)
        await asyncio.sleep(0)

    def turn(self, seconds: float) -> None:
        """Let time pass; the limits that it passes expire at once."""
        self.time += seconds
        for due, limit in self._limits:
            if due <= self.time and not limit.expired():
                limit.reschedule(asyncio.get_running_loop().time())

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[asyncio.Timeout]:
        return self._limited(seconds)

    @asynccontextmanager
    async def _limited(self, seconds: float | None) -> AsyncGenerator[asyncio.Timeout, None]:
        async with asyncio.timeout(None) as limit:
            entry = (self.time + seconds, limit) if seconds is not None else None
            if entry is not None:
                self._limits.append(entry)
            try:
                yield limit
            finally:
                if entry is not None:
                    self._limits.remove(entry)
