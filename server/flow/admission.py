"""How many turns run at once. The rest wait in a line that is bounded too, or are told to come back."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from headworks.server.flow.errors import Draining, TooMany
from headworks.server.flow.settings import FlowSettings


class Permits:
    """Hands out permits, first come first served, and takes them back however a turn ends."""

    def __init__(self, settings: FlowSettings) -> None:
        self._settings = settings
        self._free = asyncio.Semaphore(settings.max_turns)
        self._held = 0
        self._waiting = 0
        self._is_draining = False
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def held(self) -> int:
        """Turns running now."""
        return self._held

    @property
    def waiting(self) -> int:
        """Turns in line."""
        return self._waiting

    @asynccontextmanager
    async def hold(self) -> AsyncGenerator[None, None]:
        """Hold a permit for the length of the block.

        Raises:
            Draining: the server takes nothing new.
            TooMany: the line is full ("flow.max_waiting"), or the wait was too long ("flow.max_turns").
        """
        await self._acquire()
        self._held += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._held -= 1
            self._free.release()
            if self._held == 0:
                self._idle.set()

    def drain(self) -> None:
        """Refuse new turns from now on; those in line are still served."""
        self._is_draining = True

    async def wait_idle(self) -> None:
        """Return when no turn runs."""
        while self._held or self._waiting:
            await self._idle.wait()
            await asyncio.sleep(0)

    async def _acquire(self) -> None:
        if self._is_draining:
            raise Draining("the server is shutting down")
        if not self._free.locked():
            await self._free.acquire()
            return
        if self._waiting >= self._settings.max_waiting:
            raise TooMany("flow.max_waiting", self._settings.max_waiting, self._settings.wait_seconds)
        self._waiting += 1
        try:
            async with asyncio.timeout(self._settings.wait_seconds):
                await self._free.acquire()
        except TimeoutError as error:
            raise TooMany("flow.max_turns", self._settings.max_turns, self._settings.wait_seconds) from error
        finally:
            self._waiting -= 1
