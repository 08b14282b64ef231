"""Prompt tokens on their way from intake to the engine."""

import asyncio
from collections.abc import AsyncGenerator

from headworks.server.engine.engine import PromptChunk


class PromptFeed:
    """Keeps a turn's prompt, so that an engine that failed before its first token can be fed again.

    What it holds is bounded by the prompt's token limit.
    """

    def __init__(self) -> None:
        self.tokens = 0
        """Put in so far."""
        self._chunks: list[PromptChunk] = []
        self._more = asyncio.Condition()

    async def put(self, token_ids: tuple[int, ...], *, is_last: bool = False) -> None:
        """Add tokens; an empty chunk that is not the last is left out."""
        if not token_ids and not is_last:
            return
        async with self._more:
            self.tokens += len(token_ids)
            self._chunks.append(PromptChunk(token_ids, is_last))
            self._more.notify_all()

    async def wait_begun(self) -> None:
        """Return when there is something to prefill."""
        async with self._more:
            await self._more.wait_for(lambda: self._chunks)

    async def wait_whole(self) -> None:
        """Return when the last chunk is in."""
        async with self._more:
            await self._more.wait_for(lambda: self._chunks and self._chunks[-1].is_last)

    async def chunks(self) -> AsyncGenerator[PromptChunk, None]:
        """Yield the prompt from its beginning; chunks that wait together come as one."""
        taken = 0
        while True:
            async with self._more:
                while len(self._chunks) == taken:
                    await self._more.wait()
                waiting = self._chunks[taken:]
            taken += len(waiting)
            token_ids = tuple(token for chunk in waiting for token in chunk.token_ids)
            is_last = waiting[-1].is_last
            yield PromptChunk(token_ids, is_last)
            if is_last:
                return
