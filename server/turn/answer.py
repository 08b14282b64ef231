"""The output side of a turn: pieces from the engine, deltas to the caller."""

import asyncio
from contextlib import aclosing

from headworks.intake.prompt.decoder import TextDecoder
from headworks.server.clock import Clock
from headworks.server.engine.engine import Engine, EngineRequest, FinishReason, Piece
from headworks.server.engine.errors import EngineBroken, EngineUnavailable
from headworks.server.flow.grant import Grant
from headworks.server.flow.meter import Spending
from headworks.server.turn.errors import TurnTimedOut
from headworks.server.turn.feed import PromptFeed
from headworks.server.turn.record import TurnRecord
from headworks.server.turn.settings import AnswerSettings
from headworks.server.turn.steps import Delta, Sink


class Answer:
    """Carries one answer. Tokens that come while the caller is not reading go out together as one delta."""

    def __init__(
        self,
        engine: Engine,
        decoder: TextDecoder,
        grant: Grant,
        spending: Spending,
        record: TurnRecord,
        settings: AnswerSettings,
        clock: Clock,
    ) -> None:
        self._engine = engine
        self._decoder = decoder
        self._grant = grant
        self._spending = spending
        self._record = record
        self._settings = settings
        self._clock = clock
        self._pending: list[int] = []
        self._finish: FinishReason | None = None
        self._changed = asyncio.Event()

    async def run(self, request: EngineRequest, feed: PromptFeed, sink: Sink) -> FinishReason:
        """Return when the answer is with the caller.

        Raises:
            EngineUnavailable: no token came, on any attempt.
            EngineBroken: the engine failed after its first token, or ended without a reason.
            TurnTimedOut: the engine stalled.
        """
        await feed.wait_begun()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._generate(request, feed))
            await feed.wait_whole()
            return await self._deliver(sink)

    async def _generate(self, request: EngineRequest, feed: PromptFeed) -> None:
        for attempt in range(1, self._settings.attempts + 1):
            try:
                await self._attempt(request, feed)
            except EngineUnavailable:
                if attempt == self._settings.attempts or self._record.output_tokens:
                    raise
            else:
                return

    async def _attempt(self, request: EngineRequest, feed: PromptFeed) -> None:
        async with aclosing(feed.chunks()) as prompt, aclosing(self._engine.answer(request, prompt)) as pieces:
            async for made in pieces:
                piece = self._allowed(made)
                self._record.answered(len(piece.token_ids))
                self._grant.answered(len(piece.token_ids), is_last=piece.finish is not None)
                self._finish = piece.finish
                self._pending.extend(piece.token_ids)
                self._changed.set()
                if piece is not made:
                    return
        if self._finish is None:
            raise EngineBroken("the engine ended the answer without a reason")

    def _allowed(self, piece: Piece) -> Piece:
        """Return as much of a piece as the caller's rates have left; with the last of that the answer ends."""
        most = self._spending.answer_tokens
        if most is None:
            return piece
        left, tokens = most - self._record.output_tokens, len(piece.token_ids)
        if tokens < left or (tokens == left and piece.finish is not None):
            return piece
        return Piece(piece.token_ids[:left], FinishReason.LENGTH)

    async def _deliver(self, sink: Sink) -> FinishReason:
        while True:
            await self._wait_changed()
            finish = self._finish
            token_ids, self._pending = tuple(self._pending), []
            text = self._decoder.feed(token_ids) + (self._decoder.finish() if finish else "")
            if token_ids or text:
                await sink(Delta(text, token_ids))
                self._record.message_sent()
            if finish is not None:
                return finish
            if wait := self._grant.message_wait_seconds:
                await self._clock.sleep(wait)

    async def _wait_changed(self) -> None:
        if not self._changed.is_set():
            try:
                async with self._clock.timeout(self._settings.stall_seconds):
                    await self._changed.wait()
            except TimeoutError as error:
                raise TurnTimedOut("turn.answer.stall_seconds") from error
        self._changed.clear()
