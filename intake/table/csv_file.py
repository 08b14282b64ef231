"""CSV into the table `t`: rows as the first one has cells, types that keep every value.

Nothing is left for DuckDB to guess. Its sniffer takes rows of numbers for data though they are the header, drops lines
that do not fit, and types a column by its first 20,480 rows and rounds the rest (duckdb/duckdb#25824).
"""

from dataclasses import dataclass

import duckdb

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.table.column_types import kind_of, misfit, read_as, value_of
from headworks.intake.table.dialect import Dialect, read_dialect
from headworks.intake.table.faults import csv_fault
from headworks.intake.table.header import Top, names_columns, places, unique_names
from headworks.intake.table.sandbox import one, quote
from headworks.intake.table.settings import TableSettings
from headworks.intake.table.upload import Upload

_HEAD_BYTES = 64 * 1024
_SAMPLE_CELLS = 100_000
_SAMPLE_ROWS = (100, 2048)
"""The fewest and the most; types that these rows suggest are held against every value."""


def create_from_csv(cursor: duckdb.DuckDBPyConnection, part: int, upload: Upload, settings: TableSettings) -> None:
    """Make `t` of the upload.

    Raises:
        BadMedia: the rows do not fit together; the sentence names the line.
        TooLarge: by columns or a line, or by memory or time.
        SpoolUnavailable: as `Upload.even_line_ends`.
    """
    upload.even_line_ends()
    dialect = _read_head(part, upload, settings)
    if len(dialect.first_row) > settings.max_columns:
        raise TooLarge("intake.table.max_columns", settings.max_columns, len(dialect.first_row))
    try:
        _CsvReader(cursor, upload, dialect, settings).create()
    except duckdb.Error as error:
        raise csv_fault(error, part, settings) from None


def _read_head(part: int, upload: Upload, settings: TableSettings) -> Dialect:
    head = upload.head(_HEAD_BYTES)
    if b"\n" not in head:
        head = upload.head(settings.max_line_bytes)
    is_cut = len(head) < upload.bytes
    text = head[: head.rfind(b"\n") + 1 or None].decode("utf-8", "replace")
    dialect = read_dialect(text, is_cut=is_cut)
    if dialect is None:
        raise BadMedia(f"table {part}: CSV has no row that can be read")
    return dialect


@dataclass(frozen=True, slots=True)
class _CsvReader:
    cursor: duckdb.DuckDBPyConnection
    upload: Upload
    dialect: Dialect
    settings: TableSettings

    @property
    def _cells(self) -> list[str]:
        """The columns' names while all of them are text."""
        return [f"c{number}" for number in range(len(self.dialect.first_row))]

    def create(self) -> None:
        """Look at the first rows, hold what they suggest against all rows, and read the table.

        Rows that contradict the first ones cost a look at all of them.
        """
        first, sample = self._sample_bits()
        tops = [Top(text, bit, below) for text, bit, below in zip(self.dialect.first_row, first, sample, strict=True)]
        has_header = names_columns(tops)
        bits = sample if has_header else [top.bit | top.below for top in tops]
        names = unique_names(self.dialect.first_row) if has_header else places(len(self._cells))
        if self._has_misfit(bits, has_header=has_header):
            self._create(names, self._all_bits(has_header=has_header), has_header=has_header)
            return
        try:
            self._create(names, bits, has_header=has_header)
        except duckdb.ConversionException:
            self._create(names, self._all_bits(has_header=has_header), has_header=has_header)

    def _create(self, names: list[str], bits: list[int], *, has_header: bool) -> None:
        columns = ", ".join(
            f"{value_of(cell, seen)} AS {quote(name)}"
            for cell, seen, name in zip(self._cells, bits, names, strict=True)
        )
        source = self._source([read_as(seen) for seen in bits], has_header=has_header)
        self.cursor.execute(f"CREATE TABLE t AS SELECT {columns} FROM {source}", self._values)  # noqa: S608 - quoted

    def _has_misfit(self, bits: list[int], *, has_header: bool) -> bool:
        """Whether a row has a kind of value that the sample's lack."""
        misfits = [misfit(cell, seen) for cell, seen in zip(self._cells, bits, strict=True)]
        wrong = " OR ".join(each for each in misfits if each != "FALSE") or "FALSE"
        query = f"SELECT count(*) FROM (SELECT 1 FROM {self._text(has_header=has_header)} WHERE {wrong} LIMIT 1)"  # noqa: S608 - names of ours
        return one(self.cursor, query, self._values) > 0

    def _sample_bits(self) -> tuple[list[int], list[int]]:
        """The kinds of the first row, and those of the rows below it."""
        rows = f"(SELECT row_number() OVER () = 1 AS is_first, * FROM {self._text(has_header=False)} LIMIT $rows)"  # noqa: S608
        fewest, most = _SAMPLE_ROWS
        wanted = min(max(_SAMPLE_CELLS // len(self._cells), fewest), most)
        found = self._bits(rows, "is_first", {**self._values, "rows": wanted + 1})
        none = [0] * len(self._cells)
        return found.get(True, none), found.get(False, none)

    def _all_bits(self, *, has_header: bool) -> list[int]:
        """The kinds of all rows."""
        return self._bits(self._text(has_header=has_header), "FALSE", self._values).get(False, [0] * len(self._cells))

    def _bits(self, rows: str, group: str, values: dict[str, str | int]) -> dict[bool, list[int]]:
        """Join the kinds of each column's cells, in the groups of an expression."""
        cells, columns = ", ".join(self._cells), len(self._cells)
        query = f"""
            SELECT key, number, bit_or({kind_of("cell")}) FROM (
                SELECT {group} AS key, unnest([{cells}]) AS cell, unnest(range({columns})) AS number FROM {rows}
            ) GROUP BY ALL ORDER BY ALL
        """  # noqa: S608 - names of ours, values bound
        found: dict[bool, list[int]] = {}
        for key, _, bits in self.cursor.execute(query, values).fetchall():
            found.setdefault(bool(key), []).append(int(bits))
        return found

    @property
    def _values(self) -> dict[str, str | int]:
        return {
            "path": str(self.upload.path),
            "line_bytes": self.settings.max_line_bytes,
            "delimiter": self.dialect.delimiter,
            "skipped": self.dialect.skipped_lines,
        }

    def _text(self, *, has_header: bool) -> str:
        """The rows with every cell as text."""
        return self._source(["VARCHAR"] * len(self._cells), has_header=has_header)

    def _source(self, types: list[str], *, has_header: bool) -> str:
        columns = ", ".join(f"'{cell}': '{kind}'" for cell, kind in zip(self._cells, types, strict=True))
        mark = self.upload.line_mark.encode("unicode_escape").decode()
        return (
            "read_csv($path, auto_detect=false, quote='\"', escape='\"', max_line_size=$line_bytes, skip=$skipped, "
            f"delim=$delimiter, new_line='{mark}', header={has_header}, columns={{{columns}}})"
        )
