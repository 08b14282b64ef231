"""Clocks by behaviour."""

import asyncio
import heapq
import itertools
from collections.abc import AsyncGenerator, Callable
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


class VirtualClock:
    """Jumps to what is due next whenever nothing else can go on, so that a day passes in seconds."""

    def __init__(self) -> None:
        self.time = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._count = itertools.count()

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        waited: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._at(seconds, lambda: None if waited.done() else waited.set_result(None))
        await waited

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[asyncio.Timeout]:
        return self._limited(seconds)

    async def run(self, until: "asyncio.Future[object]") -> None:
        """Let time pass until this is done.

        Raises:
            AssertionError: nothing is due, and it is not done.
        """
        loop = asyncio.get_running_loop()
        while not until.done():
            await asyncio.sleep(0)
            if loop._ready or until.done():  # type: ignore[attr-defined]  # of asyncio's own loop
                continue
            assert self._due, "it waits for something that no clock brings"
            self.time, _, act = heapq.heappop(self._due)
            act()

    def _at(self, seconds: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._due, (self.time + max(0.0, seconds), next(self._count), act))

    @asynccontextmanager
    async def _limited(self, seconds: float | None) -> AsyncGenerator[asyncio.Timeout, None]:
        is_inside = True
        async with asyncio.timeout(None) as limit:

            def expire() -> None:
                if is_inside and not limit.expired():
                    limit.reschedule(asyncio.get_running_loop().time())

            if seconds is not None:
                self._at(seconds, expire)
            try:
                yield limit
            finally:
                is_inside = False
