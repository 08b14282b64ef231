"""An engine with a stated timing model and no model, for load work. Never the default."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from headworks.server.clock import Clock
from headworks.server.engine.engine import EngineLoad, EngineRequest, FinishReason, Piece, PromptChunk
from headworks.server.engine.errors import EngineBroken, EngineUnavailable
from headworks.server.engine.settings import SimulatedSettings
from headworks.server.engine.simulated_cache import HeldRoom, SimulatedCache


class SimulatedEngine:
    """Answers every turn with the same tokens, over and over."""

    def __init__(self, token_ids: tuple[int, ...], settings: SimulatedSettings, clock: Clock) -> None:
        self._token_ids = token_ids
        self._settings = settings
        self._clock = clock
        self._places = asyncio.Semaphore(settings.max_running)
        self._running: set[str] = set()
        self._cache = SimulatedCache(settings.cache_tokens)
        self._is_closed = False
        self._waiting = 0

    @property
    def max_model_tokens(self) -> int:
        return self._settings.max_model_tokens

    async def start(self) -> None:
        """Nothing to load."""

    async def answer(self, request: EngineRequest, prompt: AsyncIterator[PromptChunk]) -> AsyncGenerator[Piece, None]:
        async with self._place():
            self._running.add(request.turn_id)
            try:
                with self._cache.held() as held:
                    room = self.max_model_tokens
                    async for chunk in prompt:
                        room -= len(chunk.token_ids)
                        await held.grow(len(chunk.token_ids))
                        if chunk.is_last:
                            break
                    async for piece in self._tokens(min(room, request.sampling.max_output_tokens), held):
                        yield piece
            finally:
                self._running.discard(request.turn_id)

    def load(self) -> EngineLoad:
        return EngineLoad(
            running=len(self._running),
            waiting=self._waiting + self._cache.waiting,
            cache_used=self._cache.used_share,
            cache_tokens=self._settings.cache_tokens,
            preemptions=self._cache.preemptions,
        )

    def is_healthy(self) -> bool:
        return not self._is_closed

    async def heartbeat(self) -> None:
        if self._is_closed:
            raise EngineUnavailable("the simulated engine was closed")

    async def close(self) -> None:
        self._is_closed = True

    async def _tokens(self, ceiling: int, held: HeldRoom) -> AsyncGenerator[Piece, None]:
        """Yield the tokens as they are due; those that came due while nobody asked come as one piece."""
        count = min(self._settings.answer_tokens, ceiling)
        is_cut = count < self._settings.answer_tokens
        due = self._clock.now() + self._settings.first_token_seconds
        given = 0
        while given < count:
            await self._clock.sleep(max(0.0, due - self._clock.now()))
            if self._is_closed:
                raise (EngineBroken if given else EngineUnavailable)("the simulated engine was closed")
            first, given = given, min(count, given + 1 + self._overdue(due))
            due += (given - first) * self._settings.gap_seconds
            if await held.grow(given - first):
                # What it lost is prefilled once more.
                due = self._clock.now() + self._settings.first_token_seconds
            finish = (FinishReason.LENGTH if is_cut else FinishReason.STOP) if given == count else None
            yield Piece(tuple(self._token_ids[i % len(self._token_ids)] for i in range(first, given)), finish)

    def _overdue(self, due: float) -> int:
        """Return how many tokens have come due after the one that was due then; without a gap there are none."""
        gap = self._settings.gap_seconds
        return int((self._clock.now() - due) / gap) if gap > 0 else 0

    @asynccontextmanager
    async def _place(self) -> AsyncGenerator[None, None]:
        """Hold one place in the batch, counted while it is waited for."""
        self._waiting += 1
        try:
            await self._places.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._places.release()
