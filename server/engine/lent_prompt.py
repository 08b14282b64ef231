"""A prompt that is lent to vLLM and taken back when the answer ends."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from headworks.server.engine.engine import PromptChunk


class LentPrompt:
    """Lets a task of vLLM's read a prompt, and says when that task reads it no more.

    vLLM reads its input in a task that it only asks to stop: `generate` may end, with an error or without, while that
    task still waits for the next chunk. A generator cannot be closed as long as something waits in it.
    """

    def __init__(self, prompt: AsyncIterator[PromptChunk]) -> None:
        self.error: Exception | None = None
        """What the prompt itself raised, if it did."""
        self._prompt = prompt
        self._reader: asyncio.Task[Any] | None = None
        """The task that waits for a chunk at this moment."""
        self._is_free = asyncio.Event()
        self._is_free.set()
        self._is_taken_back = False

    async def chunks(self) -> AsyncGenerator[PromptChunk, None]:
        """Yield the prompt's chunks, the last one included, until the prompt is taken back."""
        while not self._is_taken_back and (chunk := await self._next()) is not None:
            yield chunk
            if chunk.is_last:
                return

    async def take_back(self) -> None:
        """Return once nobody iterates the prompt; from then on nobody will."""
        self._is_taken_back = True
        if self._reader is not None:
            self._reader.cancel()
        await self._is_free.wait()

    async def _next(self) -> PromptChunk | None:
        self._reader = asyncio.current_task()
        self._is_free.clear()
        try:
            return await anext(self._prompt, None)
        except Exception as error:
            self.error = error
            raise
        finally:
            self._reader = None
            self._is_free.set()
