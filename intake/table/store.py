"""Tables that were sent, kept for a while for those who sent them."""

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headworks.intake.errors import IntakeError, TooLarge
from headworks.intake.finding import TableProfile
from headworks.intake.table.faults import TableClosed
from headworks.intake.table.filters import Filter
from headworks.intake.table.settings import TableStoreSettings
from headworks.intake.table.table import RowPage, Table


class UnknownTable(IntakeError):
    """No such table for this owner: never there, someone else's, or dropped by age or room."""

    def __init__(self) -> None:
        super().__init__("there is no such table; it may have been dropped, send it again")


@dataclass(slots=True)
class _Kept:
    owner: str
    table: Table
    bytes: int
    used_at: float


class TableStore:
    """Owned tables with limits on count, bytes and age. Thread-safe."""

    def __init__(self, settings: TableStoreSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._bytes = 0

    def put(self, table: Table, owner: str) -> str:
        """Keep a table, which the store closes from now on, and return its id.

        Args:
            owner: Whoever may ask for it, a tenant; any text.
        Raises:
            TooLarge: the table alone is over `intake.tables.max_bytes`; it is closed.
        """
        size = table.memory_bytes
        if size > self._settings.max_bytes:
            table.close()
            raise TooLarge("intake.tables.max_bytes", self._settings.max_bytes, size)
        table_id = secrets.token_urlsafe(16)
        with self._lock:
            self._kept[table_id] = _Kept(owner, table, size, self._clock())
            self._bytes += size
            dropped = self._drop()
        for one in dropped:
            one.close()
        return table_id

    def get(self, table_id: str, owner: str) -> TableProfile:
        """The table's profile.

        Raises:
            UnknownTable: not there, or not this owner's.
        """
        return self._find(table_id, owner).profile

    def rows(self, table_id: str, owner: str, filters: Sequence[Filter], first: int = 100, after: int = -1) -> RowPage:
        """A page of the rows that pass every filter. Blocking: call it on a `WorkPool`.

        Args:
            first: How many rows at most, from 0 up to `max_rows_per_query`; fewer come where `max_page_characters`
                ends the page.
            after: The number of the last row already seen; -1 to begin.
        Raises:
            UnknownTable: as `get`, or dropped meanwhile.
            BadFilter: a filter does not fit the table.
            BadMedia: a text value of the table is not UTF-8.
            TooLarge: `first` is over the limit, or the query over the table's limits on time, memory and text.
            TableBroken: DuckDB failed for a reason that nobody expected.
        """
        if first > self._settings.max_rows_per_query:
            raise TooLarge("intake.tables.max_rows_per_query", self._settings.max_rows_per_query, first)
        table = self._find(table_id, owner)
        try:
            return table.page(filters, max(first, 0), after, self._settings.max_page_characters)
        except TableClosed:
            raise UnknownTable from None

    def close(self) -> None:
        """Drop everything; may be called twice."""
        with self._lock:
            tables = [kept.table for kept in self._kept.values()]
            self._kept.clear()
            self._bytes = 0
        for table in tables:
            table.close()

    def _find(self, table_id: str, owner: str) -> Table:
        with self._lock:
            dropped = self._drop()
            kept = self._kept.get(table_id)
            if kept is not None and kept.owner == owner:
                kept.used_at = self._clock()
                self._kept.move_to_end(table_id)
        for one in dropped:
            one.close()
        if kept is None or kept.owner != owner:
            raise UnknownTable
        return kept.table

    def _drop(self) -> list[Table]:
        """Take out what is too old or has no room, oldest use first; under the lock."""
        dropped = []
        oldest = self._clock() - self._settings.max_age_seconds
        while self._kept:
            kept = next(iter(self._kept.values()))
            is_over = len(self._kept) > self._settings.max_tables or self._bytes > self._settings.max_bytes
            if not is_over and kept.used_at > oldest:
                break
            self._kept.popitem(last=False)
            self._bytes -= kept.bytes
            dropped.append(kept.table)
        return dropped
