"""The budget of one answer: how many bytes it may still take, and how long it may be made without a break."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from graphql import GraphQLError

from headworks.graphql.guard import refuse
from headworks.graphql.settings import GraphqlSettings

VALUES_PER_STEP = 2_000
"""Cells that are written between two turns of the event loop; about ten milliseconds."""


class AnswerBudget:
    """Counts what the resolvers of one request put into its answer, before they do."""

    def __init__(self, settings: GraphqlSettings) -> None:
        self._max_bytes = settings.max_answer_bytes
        self._spent = 0
        self._values = 0
        self._reading = asyncio.Lock()
        self._resting = asyncio.Lock()

    def spend(self, size: int) -> None:
        """Count so many bytes.

        Raises:
            GraphQLError: the answer would be over `graphql.max_answer_bytes`.
        """
        self._spent += size
        if self._spent > self._max_bytes:
            raise too_large(self._max_bytes)

    @asynccontextmanager
    async def reading(self) -> AsyncGenerator[None, None]:
        """Hold the block in which a page is read and counted; pages of one request are read one after the other.

        Raises:
            GraphQLError: as `spend`, when earlier pages were too large already; then no more of them is read.
        """
        async with self._reading:
            self.spend(0)
            yield

    async def rest(self, values: int) -> None:
        """Let others run when many values were written since they last could.

        Args:
            values: That are about to be written.
        """
        async with self._resting:
            self._values += values
            if self._values > VALUES_PER_STEP:
                self._values = 0
                await asyncio.sleep(0)


def too_large(max_bytes: int) -> GraphQLError:
    """Return the error that stands in place of an answer, or of a field, that is too large."""
    return refuse("ANSWER_TOO_LARGE", f"graphql.max_answer_bytes allows {max_bytes}; ask for fewer rows or fields")
