"""A model of llm-d's flow control: strict bands of priority, flows in turn within a band, first come within a flow.

Source: llm-d, docs/architecture/core/router/epp/flow-control.md, with `round-robin-fairness-policy` and
`fcfs-ordering-policy`. Only the choice is modelled: its places stand still, and its line has no end.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from bench.fairness.engine import Leave, Turn
from headworks.server.flow.fairness.order import Entry
from headworks.server.flow.fairness.round_robin import RoundRobin


class Uncounted:
    """A leave to run for which tokens do not count."""

    def fed(self, tokens: int) -> None:
        pass

    def input_ended(self) -> None:
        pass

    def answered(self, tokens: int, *, is_last: bool) -> None:
        pass


class FlowControl:
    """A door that refuses nobody. Within a band its order is our round robin."""

    def __init__(self, priority_of: Callable[[str], int], places: int) -> None:
        """Open.

        Args:
            priority_of: A tenant's; the highest is always served first.
        """
        self._priority_of = priority_of
        self._free = places
        self._bands: dict[int, RoundRobin] = {}
        self._given: dict[Entry, asyncio.Future[None]] = {}
        """Of those that wait."""

    @asynccontextmanager
    async def enter(self, turn: Turn) -> AsyncGenerator[Leave, None]:
        await self._wait(Entry(tenant=turn.tenant, joined_at=turn.came_at))
        try:
            yield Uncounted()
        finally:
            self._free += 1
            self._serve()

    async def _wait(self, entry: Entry) -> None:
        given = self._given[entry] = asyncio.get_running_loop().create_future()
        band = self._bands.setdefault(self._priority_of(entry.tenant), RoundRobin())
        band.join(entry)
        self._serve()
        try:
            await given
        except asyncio.CancelledError:
            if self._given.pop(entry, None) is None:
                self._free += 1
            else:
                band.leave(entry)
            raise

    def _serve(self) -> None:
        for priority in sorted(self._bands, reverse=True):
            while self._free and (entry := self._bands[priority].next(self._still_waits)) is not None:
                self._free -= 1
                self._given.pop(entry).set_result(None)

    def _still_waits(self, entry: Entry) -> bool:
        """One that was cancelled in this very pass leaves the line by itself."""
        return not self._given[entry].done()
