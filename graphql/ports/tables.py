"""The port to the tables that turns left behind. Its adapter is `StoredTables` in `server/graph/tables.py`."""

from dataclasses import dataclass
from typing import Protocol

from headworks.intake.finding import TableProfile
from headworks.intake.table.filters import Filter
from headworks.policy.identity.caller import Caller


@dataclass(frozen=True, slots=True)
class TableView:
    """A stored table as its owner may see it."""

    table_id: str
    profile: TableProfile


@dataclass(frozen=True, slots=True)
class RowsRequest:
    """One page of a table's rows, in the order of the upload."""

    table_id: str
    filters: tuple[Filter, ...]
    first: int
    """At most this many rows, from 1."""
    after: int | None
    """Only rows whose number is greater; None starts at the first row."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row."""

    number: int
    """Where the row stands in the table as it was sent, from 0; filters do not change it."""
    values: tuple[str | None, ...]
    """In the order of the profile's columns, cast to text; None is null."""


@dataclass(frozen=True, slots=True)
class RowPage:
    """Rows in ascending order of their numbers."""

    rows: tuple[Row, ...]
    has_next: bool
    """True when a row after the last one matches too."""


@dataclass(frozen=True, slots=True)
class FilterFault:
    """A filter that the table cannot be asked."""

    filter: int | None
    """Which one, from 0; None where only the whole condition was seen to fail."""
    message: str
    """One sentence for the caller."""


@dataclass(frozen=True, slots=True)
class RowsFault:
    """The table could not be asked now, or not so much."""

    code: str
    """The reason as the contract names it ("TOO_LARGE")."""
    message: str
    """What a gRPC client would have read in the status."""


class Tables(Protocol):
    """The tables that turns left behind."""

    async def tables(self, table_ids: tuple[str, ...], caller: Caller) -> tuple[TableView | None, ...]:
        """Look tables up.

        Returns:
            As many as asked for, in that order; None for a table that does not exist, is gone, or is not the
            caller's, so that nobody can tell these apart.
        """
        ...

    async def rows(self, request: RowsRequest, caller: Caller) -> RowPage | FilterFault | RowsFault | None:
        """Read a page; fewer rows than asked for may come where the page's text has a limit.

        Returns:
            The page, or why there is none; None is as for `tables`.
        """
        ...
