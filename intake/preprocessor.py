"""The port that every kind of input implements: parts in, findings with spans out."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Protocol

from headworks.intake.finding import Finding


class Preprocessor(Protocol):
    """Reads one part of a turn. Each part has one of its own, which is thrown away after it."""

    def process(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[Finding, None]:
        """Yield findings as they become known, while chunks still arrive.

        What comes out depends on the bytes, never on where the chunks were cut. Heavy work runs on the
        preprocessor's pool, never on the event loop; the next chunk is not asked for until the one before
        is taken in, so a slow preprocessor holds the sender back. Closing the generator stops the work.

        Args:
            chunks: The part's bytes in order; empty chunks are fine. It ends where the part ends.
        Raises:
            BadMedia: the bytes are not this kind of input, or end too early.
            TooLarge: over a named limit, told from the header where there is one.
        """
        ...
