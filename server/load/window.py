"""The stretch of a step in which turns are due that make its figures."""

import asyncio

from headworks.server.load.notes import Notes, Second
from headworks.server.load.tally import Ending, Tally


class Window:
    """Counts its turns by tenant, and knows when the last one has ended."""

    def __init__(self, start: float, seconds: float, tenants: int) -> None:
        self.start = start
        self.end = start + seconds
        """Exclusive."""
        self.tallies = [Tally() for _ in range(tenants)]
        """By tenant."""
        self.open = 0
        """Turns that have not ended."""
        self._none_open = asyncio.Event()
        self._none_open.set()

    @property
    def offered(self) -> int:
        """Turns that were due so far."""
        return sum(tally.offered for tally in self.tallies)

    def notes(self, tenant: int, second: Second) -> Notes:
        """Count a turn that is due now, and return its notes."""
        self.open += 1
        self._none_open.clear()
        return _WindowNotes(self, tenant, second)

    def close_one(self) -> None:
        """One of its turns has ended."""
        self.open -= 1
        if not self.open:
            self._none_open.set()

    async def all_ended(self) -> None:
        """Return when each of its turns has ended."""
        await self._none_open.wait()


class _WindowNotes(Notes):
    """Tells the window of the end."""

    __slots__ = ("_window",)

    def __init__(self, window: Window, tenant: int, second: Second) -> None:
        super().__init__(window.tallies[tenant], second)
        self._window = window

    def ended(self, ending: Ending) -> None:
        """See `Notes`."""
        if not self.has_ended:
            super().ended(ending)
            self._window.close_one()
