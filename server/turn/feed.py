"""Prompt tokens on their way from intake to the engine."""

import asyncio
from collections.abc import AsyncGenerator
from itertools import chain

from headworks.server.engine.engine import PromptChunk


class PromptFeed:
    """Keeps a turn's prompt, so that an engine that failed before its first token can be fed again.

    What it holds is bounded by the prompt's token limit.
    """

    def __init__(self) -> None:
        self.tokens = 0
        """Put in so far."""
        self._chunks: list[PromptChunk] = []
        self._begun = asyncio.Event()
        self._more = asyncio.Event()
        self._whole = asyncio.Event()

    def put(self, token_ids: tuple[int, ...], *, is_last: bool = False) -> None:
        """Add tokens; an empty chunk that is not the last is left out."""
        if not token_ids and not is_last:
            return
        self.tokens += len(token_ids)
        self._chunks.append(PromptChunk(token_ids, is_last))
        self._begun.set()
        self._more.set()
        if is_last:
            self._whole.set()

    async def wait_begun(self) -> None:
        """Return when there is something to prefill."""
        await self._begun.wait()

    async def wait_whole(self) -> None:
        """Return when the last chunk is in."""
        await self._whole.wait()

    async def chunks(self) -> AsyncGenerator[PromptChunk, None]:
        """Yield the prompt from its beginning; chunks that wait together come as one."""
        taken = 0
        while True:
            while len(self._chunks) == taken:
                self._more.clear()
                await self._more.wait()
            waiting = self._chunks[taken:]
            taken += len(waiting)
            token_ids = tuple(chain.from_iterable(chunk.token_ids for chunk in waiting))
            is_last = waiting[-1].is_last
            yield PromptChunk(token_ids, is_last)
            if is_last:
                return
