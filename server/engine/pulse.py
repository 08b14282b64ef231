"""Tells an engine that hangs from one that is busy."""

import asyncio
import math
from collections.abc import Awaitable, Callable

from headworks.server.engine.settings import EngineSettings


class Pulse:
    """Feels for life at regular looks: a token or the answer to a heartbeat.

    It counts looks and no time. When this process itself stood still for a minute it has looked once, and has learnt
    nothing about the engine.
    """

    def __init__(self, heartbeat: Callable[[], Awaitable[None]], settings: EngineSettings) -> None:
        """Watch one engine.

        Args:
            heartbeat: The engine's `heartbeat`.
            settings: Their `health_seconds` is the time between two looks.
        """
        self._heartbeat = heartbeat
        self._looks_before_beat = math.ceil(settings.heartbeat_seconds / settings.health_seconds)
        self._looks_before_hung = math.ceil(settings.heartbeat_timeout_seconds / settings.health_seconds)
        self._looks = 0
        """Since the last sign of life, or since the heartbeat that is now waited for was asked for."""
        self._beat: asyncio.Future[None] | None = None

    def token_came(self) -> None:
        """Take a token as a sign of life."""
        self._looks = 0

    def look(self) -> bool:
        """Look once, ask for a heartbeat if it is time, and return whether the engine still counts as alive."""
        self._looks += 1
        if self._beat is None:
            if self._looks >= self._looks_before_beat:
                self._looks, self._beat = 0, asyncio.ensure_future(self._heartbeat())
            return True
        if not self._beat.done():
            return self._looks < self._looks_before_hung
        is_alive = not self._beat.cancelled() and self._beat.exception() is None
        self._looks, self._beat = 0, None
        return is_alive

    async def stop(self) -> None:
        """Wait for no heartbeat any more."""
        if self._beat is not None:
            self._beat.cancel()
            await asyncio.wait((self._beat,))
            self._beat = None
