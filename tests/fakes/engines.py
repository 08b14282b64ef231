"""Engines by behaviour."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

from headworks.server.clock import Clock
from headworks.server.engine.engine import EngineLoad, EngineRequest, FinishReason, Piece, PromptChunk
from headworks.server.engine.errors import EngineBroken, EngineUnavailable


class TalkingEngine:
    """Answers with `tokens` tokens; what it was asked, and how each answer ended, is kept."""

    def __init__(self, tokens: int = 4, *, pauses: bool = False, max_model_tokens: int = 4096) -> None:
        """Answer.

        Args:
            pauses: Wait for `may_talk` to be set again after every token.
            max_model_tokens: Prompt and answer together.
        """
        self.requests: list[EngineRequest] = []
        self.prompts: list[tuple[int, ...]] = []
        self.closed: list[str] = []
        """Turns whose generator reached its `finally`."""
        self.may_talk = asyncio.Event()
        """Cleared, the engine waits before each token."""
        self.may_talk.set()
        self._tokens = tokens
        self._pauses = pauses
        self._max_model_tokens = max_model_tokens
        self._running = 0
        self._is_closed = False

    @property
    def max_model_tokens(self) -> int:
        return self._max_model_tokens

    async def start(self) -> None:
        pass

    async def answer(self, request: EngineRequest, prompt: AsyncIterator[PromptChunk]) -> AsyncGenerator[Piece, None]:
        self.requests.append(request)
        self._running += 1
        try:
            self.prompts.append(())
            async for chunk in prompt:
                self.prompts[-1] += chunk.token_ids
            async for piece in self._talk(request):
                yield piece
        finally:
            self._running -= 1
            self.closed.append(request.turn_id)

    async def _talk(self, request: EngineRequest) -> AsyncGenerator[Piece, None]:
        room = self._max_model_tokens - len(self.prompts[-1])
        count = min(self._tokens, request.sampling.max_output_tokens, room)
        for number in range(1, count + 1):
            await self.may_talk.wait()
            if self._is_closed:
                raise (EngineBroken if number > 1 else EngineUnavailable)("it was closed")
            if self._pauses:
                self.may_talk.clear()
            last = FinishReason.LENGTH if count < self._tokens else FinishReason.STOP
            yield Piece((65,), last if number == count else None)

    def load(self) -> EngineLoad:
        return EngineLoad(self._running, 0, 0.0)

    def is_healthy(self) -> bool:
        return not self._is_closed

    async def heartbeat(self) -> None:
        if self._is_closed:
            raise EngineUnavailable("it was closed")

    async def close(self) -> None:
        self._is_closed = True
        self.may_talk.set()


class FailingEngine(TalkingEngine):
    """Fails its first `failures` answers before a token, or every one after a token."""

    def __init__(self, failures: int = 1, *, tokens: int = 4, is_after_token: bool = False) -> None:
        super().__init__(tokens)
        self._failures = failures
        self._is_after_token = is_after_token

    async def _talk(self, request: EngineRequest) -> AsyncGenerator[Piece, None]:
        if self._is_after_token:
            yield Piece((65,))
            raise EngineBroken("it broke")
        if len(self.requests) <= self._failures:
            raise EngineUnavailable("it is not there")
        async for piece in super()._talk(request):
            yield piece


class MortalEngine(TalkingEngine):
    """Dies or hangs when it is told to."""

    def __init__(self, tokens: int = 4, *, start_seconds: float = 0.0, clock: Clock, can_start: bool = True) -> None:
        super().__init__(tokens)
        self.started_at: float | None = None
        self.is_let_go = False
        """It was closed, so that another engine may be made."""
        self._can_start = can_start
        self._start_seconds = start_seconds
        self._clock = clock
        self._answers_heartbeats = asyncio.Event()
        self._answers_heartbeats.set()

    async def start(self) -> None:
        await self._clock.sleep(self._start_seconds)
        if not self._can_start:
            raise EngineUnavailable("it cannot start")
        self.started_at = self._clock.now()

    def is_healthy(self) -> bool:
        return self.started_at is not None and super().is_healthy()

    async def heartbeat(self) -> None:
        await self._answers_heartbeats.wait()
        await super().heartbeat()

    async def close(self) -> None:
        await super().close()
        self.is_let_go = True

    def die(self) -> None:
        """End at once, as a process that was killed; running answers learn of it with their next token."""
        self._is_closed = True
        self.may_talk.set()

    def hang(self) -> None:
        """Give neither tokens nor heartbeats any more, as a process that was stopped."""
        self.may_talk.clear()
        self.stop_heartbeats()

    def stop_heartbeats(self) -> None:
        """Let heartbeats wait until `answer_heartbeats`."""
        self._answers_heartbeats.clear()

    def answer_heartbeats(self) -> None:
        self._answers_heartbeats.set()
