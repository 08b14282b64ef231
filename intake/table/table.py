"""One table in a DuckDB of its own, shut off from files, network and extensions. Blocking: use a `WorkPool`."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import duckdb

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.finding import Column, TableProfile
from headworks.intake.table.faults import translate
from headworks.intake.table.filters import BadFilter, Filter, where
from headworks.intake.table.settings import TableSettings
from headworks.intake.table.upload import DELIMITERS, PARQUET_MAGIC, TableFormat, Upload

Row = tuple[str | None, ...]
_CSV = "read_csv($path, quote='\"', escape='\"', skip=0, max_line_size=$line, sample_size=$sample)"
_PARQUET = "read_parquet($path)"


class Table:
    """A table that was read into memory. Any number of threads may query it; `close` frees it."""

    def __init__(self, part: int, settings: TableSettings, path: str) -> None:
        """Open an empty database that may read `path` and nothing else."""
        self._part = part
        self._settings = settings
        self._database = _sandbox(settings, path)
        self._path = path
        self._profile: TableProfile | None = None

    @property
    def profile(self) -> TableProfile:
        """Known once `read_table` has returned it."""
        if self._profile is None:
            raise RuntimeError("the table is not read yet")
        return self._profile

    @property
    def memory_bytes(self) -> int:
        """What DuckDB holds for it."""
        with self._cursor() as cursor:
            return int(_one(cursor, "SELECT sum(memory_usage_bytes) FROM duckdb_memory()"))

    def close(self) -> None:
        """Interrupt what runs and free the memory; may be called twice."""
        self._database.interrupt()
        self._database.close()

    def load(self, upload: Upload) -> TableProfile:
        """Read and profile the upload. Called once, by `read_table`."""
        with self._cursor() as cursor:
            if upload.format is TableFormat.PARQUET:
                self._check_footer(cursor, upload)
                self._create(cursor, _PARQUET, {"path": self._path})
            else:
                self._create_from_csv(cursor, upload)
            self._profile = self._summarize(cursor, upload.format or TableFormat.CSV)
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

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection of its own that is interrupted after `max_seconds`, with DuckDB's errors translated."""
        cursor = self._database.cursor()
        done = threading.Event()
        watch = threading.Thread(target=_interrupt_late, args=(cursor, self._settings.max_seconds, done), daemon=True)
        watch.start()
        try:
            yield cursor
        except duckdb.Error as error:
            raise translate(error, self._part, self._settings) from None
        except UnicodeDecodeError:
            raise BadMedia(f"table {self._part}: a text value is not UTF-8") from None
        finally:
            done.set()
            watch.join()
            cursor.close()

    def _create(self, cursor: duckdb.DuckDBPyConnection, source: str, values: dict[str, str | int]) -> None:
        limits = self._settings
        query = f"CREATE OR REPLACE TABLE t AS SELECT * FROM {source} LIMIT $rows"  # noqa: S608 - constants, values bound
        cursor.execute(query, {**values, "rows": limits.max_rows + 1})
        rows = int(_one(cursor, "SELECT count(*) FROM t"))
        if rows > limits.max_rows:
            raise TooLarge("intake.table.max_rows", limits.max_rows, rows)
        columns = int(_one(cursor, "SELECT count(*) FROM duckdb_columns() WHERE table_name = 't'"))
        if columns > limits.max_columns:
            raise TooLarge("intake.table.max_columns", limits.max_columns, columns)

    def _create_from_csv(self, cursor: duckdb.DuckDBPyConnection, upload: Upload) -> None:
        header = upload.first_line()
        delimiter = max(DELIMITERS, key=header.count)
        columns = header.count(delimiter) + 1
        if columns > self._settings.max_columns:
            raise TooLarge("intake.table.max_columns", self._settings.max_columns, columns)
        values: dict[str, str | int] = {"path": self._path, "line": self._settings.max_line_bytes, "sample": 20480}
        try:
            self._create(cursor, _CSV, values)
        except duckdb.ConversionException:
            # A type guessed from the first rows met a later row that does not fit: guess from all of them.
            self._create(cursor, _CSV, {**values, "sample": -1})
        except duckdb.InvalidInputException:
            self._read_strictly(cursor, delimiter, columns)
            raise
        is_single = int(_one(cursor, "SELECT count(*) FROM duckdb_columns() WHERE table_name = 't'")) == 1
        if is_single and columns > 1 and not header.startswith('"'):
            self._read_strictly(cursor, delimiter, columns)

    def _read_strictly(self, cursor: duckdb.DuckDBPyConnection, delimiter: str, columns: int) -> None:
        """Read as the header wants it, so that DuckDB's error names the line whose columns differ."""
        names = ", ".join(f"'c{number}': 'VARCHAR'" for number in range(columns))
        source = (
            "read_csv($path, quote='\"', escape='\"', header=true, auto_detect=false, max_line_size=$line, "
            f"delim=$delimiter, columns={{{names}}})"
        )
        values: dict[str, str | int] = {"path": self._path, "line": self._settings.max_line_bytes}
        self._create(cursor, source, {**values, "delimiter": delimiter})

    def _check_footer(self, cursor: duckdb.DuckDBPyConnection, upload: Upload) -> None:
        """Hold the footer to the limits before any page is read."""
        limits = self._settings
        with upload.path.open("rb") as file:
            file.seek(-min(8, upload.bytes), 2)
            tail = file.read()
        length = int.from_bytes(tail[:4], "little")
        if upload.bytes < 12 or not tail.endswith(PARQUET_MAGIC):
            raise BadMedia(f"table {self._part}: Parquet ends without its footer; was it cut short?")
        if not 0 < length <= upload.bytes - 12:
            raise BadMedia(f"table {self._part}: Parquet says its footer has {length} bytes, which do not fit the file")
        if length > limits.max_footer_bytes:
            raise TooLarge("intake.table.max_footer_bytes", limits.max_footer_bytes, length)
        path = {"path": self._path}
        rows = int(_one(cursor, "SELECT coalesce(sum(num_rows), 0) FROM parquet_file_metadata($path)", path))
        if rows > limits.max_rows:
            raise TooLarge("intake.table.max_rows", limits.max_rows, rows)
        query = (
            "SELECT count(DISTINCT column_id), coalesce(sum(total_uncompressed_size), 0) FROM parquet_metadata($path)"
        )
        columns, size = cursor.execute(query, path).fetchall()[0]
        if columns > limits.max_columns:
            raise TooLarge("intake.table.max_columns", limits.max_columns, int(columns))
        if size > limits.max_uncompressed_bytes:
            raise TooLarge("intake.table.max_uncompressed_bytes", limits.max_uncompressed_bytes, int(size))

    def _summarize(self, cursor: duckdb.DuckDBPyConnection, table_format: TableFormat) -> TableProfile:
        summary = cursor.execute(
            "SELECT column_name, column_type, min, max, approx_unique FROM (SUMMARIZE t)"
        ).fetchall()
        counts = ", ".join(f"count(*) - count({quote(str(row[0]))})" for row in summary)
        rows, *nulls = cursor.execute(f"SELECT count(*), {counts} FROM t").fetchall()[0]  # noqa: S608 - identifiers quoted
        columns = tuple(
            Column(str(name), str(kind), int(empty), int(distinct), self._shorten(least), self._shorten(most))
            for (name, kind, least, most, distinct), empty in zip(summary, nulls, strict=True)
        )
        return TableProfile(table_format.value, int(rows), columns)

    def _shorten(self, value: object) -> str | None:
        if value is None:
            return None
        text = str(value)
        limit = self._settings.max_profile_characters
        return text if len(text) <= limit else text[: limit - 1] + "…"


def read_table(part: int, upload: Upload, settings: TableSettings) -> Table:
    """Read a finished upload into memory and profile it.

    Raises:
        BadMedia: not a table, or a damaged one; the sentence says what and where, never the content.
        TooLarge: rows, columns, bytes, memory or time are over a limit.
    """
    table = Table(part, settings, str(upload.path))
    try:
        table.load(upload)
    except BaseException:
        table.close()
        raise
    return table


def quote(identifier: str) -> str:
    """An SQL identifier from any text."""
    return '"' + identifier.replace('"', '""') + '"'


def _sandbox(settings: TableSettings, path: str) -> duckdb.DuckDBPyConnection:
    """An in-memory database that may read one file, load nothing, spill nowhere and change no setting."""
    database = duckdb.connect(
        ":memory:",
        config={
            "threads": settings.threads,
            "memory_limit": f"{settings.max_memory_bytes}B",
            "temp_directory": "",
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "allow_persistent_secrets": False,
        },
    )
    literal = "'" + path.replace("'", "''") + "'"
    database.execute(f"SET allowed_paths = [{literal}]")
    database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")
    return database


def _interrupt_late(cursor: duckdb.DuckDBPyConnection, seconds: float, done: threading.Event) -> None:
    """Interrupt, again and again: one that falls between two statements is lost."""
    wait = seconds
    while not done.wait(wait):
        cursor.interrupt()
        wait = 0.05


def _one(cursor: duckdb.DuckDBPyConnection, query: str, values: dict[str, str] | None = None) -> int:
    return int(cursor.execute(query, values or {}).fetchall()[0][0])
