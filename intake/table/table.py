"""One table, read into a DuckDB of its own. Blocking: use a `WorkPool`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import duckdb

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.finding import TableProfile
from headworks.intake.table.cells import Cells, check_readable
from headworks.intake.table.csv_file import create_from_csv
from headworks.intake.table.faults import fault
from headworks.intake.table.filters import BadFilter, Filter, where
from headworks.intake.table.parquet_file import create_from_parquet
from headworks.intake.table.profile import summarize
from headworks.intake.table.sandbox import Sandbox, one, quote
from headworks.intake.table.settings import TableSettings
from headworks.intake.table.upload import TableFormat, Upload

Row = tuple[str | None, ...]
"""A row's cells as text, None for null."""


class Table:
    """A table that was read into memory. Any number of threads may query it; `close` frees it."""

    def __init__(self, part: int, settings: TableSettings, path: str) -> None:
        """Open an empty database that may read `path` and nothing else."""
        self._part = part
        self._settings = settings
        self._sandbox = Sandbox(settings, path)
        self._profile: TableProfile | None = None
        self._cells: tuple[Cells, ...] = ()

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
            self._profile = summarize(cursor, upload.format or TableFormat.CSV, self._cells, self._settings)
        return self._profile

    def sample(self, rows: int) -> list[Row]:
        """The first rows, each value as DuckDB casts it to VARCHAR."""
        with self._cursor() as cursor:
            query = f"SELECT {self._as_text()} FROM t LIMIT $rows"  # noqa: S608 - identifiers quoted, values bound
            return cursor.execute(query, {"rows": rows}).fetchall()

    def rows(self, filters: Sequence[Filter], first: int, after: int) -> list[tuple[int, Row]]:
        """Rows that pass every filter, in file order.

        Args:
            first: How many at most.
            after: Only rows with a higher number; -1 for all.
        Returns:
            (row number from 0, values as in `sample`).
        Raises:
            BadFilter: a filter does not fit the table.
        """
        condition, values = where(self.profile, filters)
        query = (
            f"SELECT rowid, {self._as_text()} FROM t WHERE rowid > $after AND {condition} ORDER BY rowid LIMIT $first"  # noqa: S608 - identifiers quoted, values bound
        )
        with self._cursor() as cursor:
            try:
                found = cursor.execute(query, {"after": after, "first": first, **values}).fetchall()
            except duckdb.ConversionException:
                raise BadFilter("a filter's value does not fit its column's type") from None
        return [(int(row[0]), tuple(row[1:])) for row in found]

    def _as_text(self) -> str:
        return ", ".join(f"CAST({quote(column.name)} AS VARCHAR)" for column in self.profile.columns)

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
        except duckdb.Error as error:
            raise fault(error, self._settings) from None
        except UnicodeDecodeError:
            raise BadMedia(f"table {self._part}: a text value is not UTF-8") from None


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
