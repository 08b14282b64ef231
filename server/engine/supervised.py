"""An engine that is made anew when it dies or hangs."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from enum import StrEnum
from typing import NoReturn

from headworks.server.clock import Clock
from headworks.server.engine.engine import Engine, EngineLoad, EngineRequest, Piece, PromptChunk
from headworks.server.engine.errors import EngineUnavailable
from headworks.server.engine.pulse import Pulse
from headworks.server.engine.restarts import Restarts
from headworks.server.engine.settings import EngineSettings

_LEAST_RETRY_SECONDS = 1.0
"""What a caller is told when the engine should be back by now and is not."""


class EngineNews(StrEnum):
    """What happens to a supervised engine after its first start."""

    DIED = "died"
    HUNG = "hung"
    """Neither tokens nor heartbeats came; it is killed."""
    START_FAILED = "start_failed"
    RESTARTED = "restarted"
    """It takes turns again."""


Tell = Callable[[EngineNews, str], Awaitable[None]]
"""Takes each piece of news in order, with a sentence on it; the next step waits until it returns."""


class SupervisedEngine:
    """Passes turns to the engine of the moment; while there is none, it refuses them at once.

    There is never more than one engine: the old one's processes are gone before a new one is made.
    """

    def __init__(self, make: Callable[[], Engine], settings: EngineSettings, clock: Clock) -> None:
        """Supervise the engines that `make` makes; each is started once."""
        self._make = make
        self._settings = settings
        self._clock = clock
        self._restarts = Restarts(settings)
        self._adopt()
        self._is_up = False
        self._up_at = 0.0
        self._start_seconds = 0.0
        """How long the last start took that went well."""
        self._back_at: float | None = None
        """When the engine should take turns again, once its restart has begun."""

    @property
    def max_model_tokens(self) -> int:
        return self._engine.max_model_tokens

    async def start(self) -> None:
        began = self._clock.now()
        limit = self._settings.max_start_seconds
        try:
            async with self._clock.timeout(limit):
                await self._engine.start()
        except TimeoutError as error:
            raise EngineUnavailable(f"the engine did not start: engine.max_start_seconds allows {limit:g}") from error
        self._up_at = self._clock.now()
        self._start_seconds = self._up_at - began
        self._back_at = None
        self._is_up = True

    async def answer(self, request: EngineRequest, prompt: AsyncIterator[PromptChunk]) -> AsyncGenerator[Piece, None]:
        engine, pulse = self._engine, self._pulse
        if not self.is_healthy():
            raise EngineUnavailable("the engine takes no turns at this moment", self._retry_after_seconds())
        try:
            async with aclosing(engine.answer(request, prompt)) as pieces:
                async for piece in pieces:
                    pulse.token_came()
                    yield piece
        except EngineUnavailable as error:
            if not self.is_healthy():
                error.retry_after_seconds = self._retry_after_seconds()
            raise

    def load(self) -> EngineLoad:
        return self._engine.load()

    def is_healthy(self) -> bool:
        """Return whether turns are taken at this moment."""
        return self._is_up and self._engine.is_healthy()

    async def heartbeat(self) -> None:
        await self._engine.heartbeat()

    async def close(self) -> None:
        self._is_up = False
        await self._engine.close()

    async def watch(self, tell: Tell) -> NoReturn:
        """Restart the engine whenever it dies or hangs, from after `start` until cancelled.

        Raises:
            EngineLost: it died more often than the settings allow.
        """
        while True:
            news, why = await self._end_of_life()
            self._is_up = False
            died_at = self._clock.now()
            self._restarts.ran(died_at - self._up_at)
            await tell(news, why)
            while (failure := await self._restart()) is not None:
                await tell(EngineNews.START_FAILED, str(failure))
            await tell(EngineNews.RESTARTED, f"{self._clock.now() - died_at:.1f} s after it died")

    async def _end_of_life(self) -> tuple[EngineNews, str]:
        """Return once the engine does not work any more, with the reason."""
        try:
            while self._engine.is_healthy():
                if not self._pulse.look():
                    return EngineNews.HUNG, f"no heartbeat within {self._settings.heartbeat_timeout_seconds:g} s"
                await self._clock.sleep(self._settings.health_seconds)
        finally:
            await self._pulse.stop()
        return EngineNews.DIED, "a process of the engine ended"

    async def _restart(self) -> EngineUnavailable | None:
        """Put a new engine in the place of the old one; return why that failed, if it did."""
        wait = self._restarts.wait_seconds
        self._restarts.begin()
        self._back_at = self._clock.now() + wait + self._start_seconds
        try:
            await self._engine.close()
            await self._clock.sleep(wait)
            self._adopt()
            await self.start()
        except EngineUnavailable as error:
            self._back_at = None
            return error
        return None

    def _adopt(self) -> None:
        self._engine = self._make()
        self._pulse = Pulse(self._engine.heartbeat, self._settings)

    def _retry_after_seconds(self) -> float:
        """Estimate when the engine takes turns again: after the wait before its restart, and a start like the last."""
        if self._back_at is None:
            return max(_LEAST_RETRY_SECONDS, self._restarts.wait_seconds + self._start_seconds)
        return max(_LEAST_RETRY_SECONDS, self._back_at - self._clock.now())
