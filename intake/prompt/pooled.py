"""A prompt that is written on the event loop where that is quick, and on threads where it is not."""

from collections.abc import Sequence

from headworks.intake.prompt.tokenizer import LIGHT_CHARACTERS
from headworks.intake.prompt.writer import PromptWriter
from headworks.intake.span import Span
from headworks.intake.work import WorkPool


class PooledPromptWriter:
    """A `PromptWriter` for the event loop. Its calls come one after the other, each awaited before the next.

    Nearly every call has little to encode and is quicker than a thread's start. But a word has as many characters as
    its sender likes, and some models' tokens are certain at the end of the prompt only.
    """

    def __init__(self, writer: PromptWriter, pool: WorkPool) -> None:
        self._writer = writer
        self._pool = pool

    @property
    def tokens(self) -> int:
        """See `PromptWriter`."""
        return self._writer.tokens

    def start(self) -> tuple[int, ...]:
        """See `PromptWriter`. Its work is bounded by the template and the instructions."""
        return self._writer.start()

    async def write(self, spans: Sequence[Span]) -> tuple[Span, ...]:
        """Write spans in order; see `PromptWriter.write`."""
        if self._is_light(sum(len(span.text) for span in spans)):
            return self._write(spans)
        return await self._pool.run(self._write, spans)

    async def finish(self) -> tuple[int, ...]:
        """See `PromptWriter`."""
        return self._writer.finish() if self._is_light(0) else await self._pool.run(self._writer.finish)

    def _is_light(self, characters: int) -> bool:
        return characters + self._writer.held_characters <= LIGHT_CHARACTERS

    def _write(self, spans: Sequence[Span]) -> tuple[Span, ...]:
        return tuple(self._writer.write(span) for span in spans)
