"""One table, read into a DuckDB of its own. Blocking: use a `WorkPool`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb

from headworks.intake.errors import TooLarge
from headworks.intake.finding import TableProfile
from headworks.intake.table.cells import Cells, check_readable
from headworks.intake.table.csv_file import create_from_csv
from headworks.intake.table.faults import query_fault
from headworks.intake.table.filters import BadFilter, Filter, Operator, where
from headworks.intake.table.parquet_file import create_from_parquet
from headworks.intake.table.profile import summarize
from headworks.intake.table.sandbox import Sandbox, one
from headworks.intake.table.settings import TableSettings
from headworks.intake.table.upload import TableFormat, Upload

Row = tuple[str | None, ...]
"""A row's cells as text, None for null."""
_VECTOR_ROWS = 2048
"""Rows that DuckDB handles at once."""
_PUNCTUATION = 4
"""Characters that a cell takes in JSON beside its text."""


@dataclass(frozen=True, slots=True)
class RowPage:
    """Some rows of a table, in file order."""

    columns: tuple[str, ...]
    rows: tuple[tuple[int, Row], ...]
    """(row number from 0, cells)."""
    has_more: bool
    """Whether rows after the last one pass the filters too; ask with `after` = its number."""


class Table:
    """A table that was read into memory. Any number of threads may query it; `close` frees it.

    Every query has the limits of the read: `max_seconds`, `max_memory_bytes` and, for text that DuckDB makes outside
    of that memory, `max_text_characters`.
    """

    def __init__(self, part: int, settings: TableSettings, path: str) -> None:
        """Open an empty database that may read `path` and nothing else."""
        self._part = part
        self._settings = settings
        self._sandbox = Sandbox(settings, path)
        self._profile: TableProfile | None = None
        self._cells: tuple[Cells, ...] = ()
        self._vector_characters: dict[str, int] = {}

    @property
    def profile(self) -> TableProfile:
        """Known once `read_table` has returned it."""
        if self._profile is None:
            raise RuntimeError("the table is not read yet")
        return self._profile

    @property
    def memory_bytes(self) -> int:
        """What the table and its database hold."""
        return self._sandbox.memory_bytes

    def close(self) -> None:
        """Free the memory once the queries that run have ended; may be called twice."""
        self._sandbox.close()

    def load(self, upload: Upload) -> TableProfile:
        """Read and profile the upload. Called once, by `read_table`."""
        create = create_from_parquet if upload.format is TableFormat.PARQUET else create_from_csv
        with self._cursor() as cursor:
            create(cursor, self._part, upload, self._settings)
            self._check_shape(cursor)
            self._cells = _cells(cursor)
            check_readable(self._part, self._cells)
            self._vector_characters = _vector_characters(cursor, self._cells)
            self._profile = summarize(cursor, upload.format or TableFormat.CSV, self._cells, self._settings)
        return self._profile

    def sample(self, rows: int, max_cell_characters: int) -> list[Row]:
        """The first rows; a longer cell is cut and ends in an ellipsis."""
        with self._cursor() as cursor:
            texts = ", ".join(one.cut(max_cell_characters) for one in self._cells)
            query = f"SELECT {texts} FROM t WHERE rowid < $rows ORDER BY rowid"  # noqa: S608 - identifiers quoted
            return cursor.execute(query, {"rows": rows}).fetchall()

    def page(self, filters: Sequence[Filter], first: int, after: int, max_characters: int) -> RowPage:
        """The next rows that pass every filter, as many as fit.

        A page ends before the row that would make it longer than `max_characters`, and says that there are more. A cell
        longer than its share of a page (`max_characters` by the number of columns) is cut and ends in an ellipsis, so
        that one row always fits.

        Args:
            first: How many rows at most.
            after: Only rows with a higher number; -1 for all.
            max_characters: Of all cells together, each with its punctuation in JSON.
        Raises:
            BadFilter: a filter does not fit the table.
            BadMedia: a text value is not UTF-8.
            TooLarge: over the limits of the table's settings.
            TableClosed: it was closed before.
        """
        share = max(max_characters // len(self._cells), 1)
        with self._cursor() as cursor:
            found = self._find(cursor, filters, first + 1, after, share)
            numbers = _that_fit(found[:first], max_characters)
            rows = self._read(cursor, numbers, share)
        names = tuple(one.name for one in self._cells)
        return RowPage(names, tuple(zip(numbers, rows, strict=True)), len(found) > len(numbers))

    def _find(
        self, cursor: duckdb.DuckDBPyConnection, filters: Sequence[Filter], first: int, after: int, share: int
    ) -> list[tuple[int, int]]:
        """Numbers and sizes in characters of the rows that pass, in file order."""
        condition, values = where(self.profile, filters)
        self._check_text(filters)
        size = " + ".join(f"least({one.size}, {share}) + {_PUNCTUATION}" for one in self._cells)
        # DuckDB keeps the file's order without ORDER BY, and stops at the limit.
        query = f"SELECT rowid, {size} FROM t WHERE rowid > $after AND {condition} LIMIT $first"  # noqa: S608 - identifiers quoted, values bound
        try:
            return cursor.execute(query, {"after": after, "first": first, **values}).fetchall()
        except (duckdb.DataError, duckdb.InvalidInputException, duckdb.BinderException):
            raise BadFilter("a filter's value does not fit its column's type") from None

    def _read(self, cursor: duckdb.DuckDBPyConnection, numbers: list[int], share: int) -> list[Row]:
        if not numbers:
            return []
        texts = ", ".join(one.cut(share) for one in self._cells)
        wanted = f"rowid BETWEEN {numbers[0]} AND {numbers[-1]} AND rowid IN ({', '.join(map(str, numbers))})"
        query = f"SELECT {texts} FROM t WHERE {wanted} ORDER BY rowid"  # noqa: S608 - identifiers quoted, numbers of ours
        return cursor.execute(query).fetchall()

    def _check_text(self, filters: Sequence[Filter]) -> None:
        """Refuse filters for which DuckDB would write out too many lists, records or binary values at once."""
        limit = self._settings.max_text_characters
        searched = (one.column for one in filters if one.operator is Operator.CONTAINS)
        size = sum(self._vector_characters.get(column, 0) for column in searched)
        if size > limit:
            raise TooLarge("intake.table.max_text_characters", limit, size)

    def _check_shape(self, cursor: duckdb.DuckDBPyConnection) -> None:
        limits = self._settings
        rows = one(cursor, "SELECT count(*) FROM t")
        if rows > limits.max_rows:
            raise TooLarge("intake.table.max_rows", limits.max_rows, rows)
        columns = one(cursor, "SELECT count(*) FROM duckdb_columns() WHERE table_name = 't'")
        if columns > limits.max_columns:
            raise TooLarge("intake.table.max_columns", limits.max_columns, columns)

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection under the limits, with DuckDB's errors translated."""
        try:
            with self._sandbox.cursor() as cursor:
                yield cursor
        except (duckdb.Error, UnicodeDecodeError) as error:
            raise query_fault(error, self._part, self._settings) from None


def read_table(part: int, upload: Upload, settings: TableSettings) -> Table:
    """Read a finished upload into memory and profile it.

    Raises:
        BadMedia: not a table, or a damaged one; the sentence says what and where, never the content.
        TooLarge: rows, columns, bytes, memory or time are over a limit.
        SpoolUnavailable: the upload's folder has no room for a second file, where one is needed.
    """
    table = Table(part, settings, str(upload.path))
    try:
        table.load(upload)
    except BaseException:
        table.close()
        raise
    return table


def _cells(cursor: duckdb.DuckDBPyConnection) -> tuple[Cells, ...]:
    described = cursor.execute("FROM t LIMIT 0").description or []
    return tuple(Cells(str(name), kind) for name, kind, *_ in described)


def _vector_characters(cursor: duckdb.DuckDBPyConnection, cells: Sequence[Cells]) -> dict[str, int]:
    """For each column whose text can grow: the characters that DuckDB writes at once, by an upper bound."""
    sizes: dict[str, int] = {}
    for cell in cells:
        if cell.can_grow:
            vectors = f"SELECT sum({cell.size}) AS size FROM t GROUP BY rowid // {_VECTOR_ROWS}"  # noqa: S608 - identifiers quoted
            sizes[cell.name] = one(cursor, f"SELECT coalesce(max(size), 0) FROM ({vectors})")  # noqa: S608 - as above
    return sizes


def _that_fit(found: Sequence[tuple[int, int]], max_characters: int) -> list[int]:
    """The numbers of the rows that fit on a page, at least one."""
    numbers: list[int] = []
    used = 0
    for number, size in found:
        used += size
        if numbers and used > max_characters:
            break
        numbers.append(int(number))
    return numbers
