"""Parquet into the table `t`, with its footer held to the limits before any page is read."""

import duckdb

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.table.faults import parquet_fault
from headworks.intake.table.settings import TableSettings
from headworks.intake.table.upload import PARQUET_MAGIC, Upload

_TAIL_BYTES = 8
"""The footer's length and the magic bytes, at the end of the file."""
_LISTED_VALUE_BYTES = 16
"""What one value in a list takes while DuckDB reads and profiles it: eight in its vector and eight for its hash."""


def create_from_parquet(cursor: duckdb.DuckDBPyConnection, part: int, upload: Upload, settings: TableSettings) -> None:
    """Make `t` of the upload; the sandbox counts its rows.

    Raises:
        BadMedia: damaged, cut short or encrypted.
        TooLarge: by its footer, or by memory or time.
    """
    _check_tail(part, upload, settings)
    values = {"path": str(upload.path)}
    try:
        _check_footer(cursor, values, settings)
        cursor.execute("CREATE TABLE t AS FROM read_parquet($path)", values)
    except duckdb.Error as error:
        raise parquet_fault(error, part, settings) from None


def _check_tail(part: int, upload: Upload, settings: TableSettings) -> None:
    with upload.path.open("rb") as file:
        file.seek(-min(_TAIL_BYTES, upload.bytes), 2)
        tail = file.read()
    smallest = _TAIL_BYTES + len(PARQUET_MAGIC)
    if upload.bytes < smallest or not tail.endswith(PARQUET_MAGIC):
        raise BadMedia(f"table {part}: Parquet ends without its footer; was it cut short?")
    length = int.from_bytes(tail[:4], "little")
    if not 0 < length <= upload.bytes - smallest:
        raise BadMedia(f"table {part}: Parquet says its footer has {length} bytes, which do not fit the file")
    if length > settings.max_footer_bytes:
        raise TooLarge("intake.table.max_footer_bytes", settings.max_footer_bytes, length)


def _check_footer(cursor: duckdb.DuckDBPyConnection, path: dict[str, str], settings: TableSettings) -> None:
    # A page of a few bytes can repeat one value without end. In a flat column `max_rows` ends that, in a list nothing.
    query = f"""
        SELECT
            coalesce(sum(row_group_num_rows) FILTER (column_id = 0), 0),
            count(DISTINCT column_id),
            coalesce(sum(greatest(
                total_uncompressed_size, if(num_values > row_group_num_rows, {_LISTED_VALUE_BYTES} * num_values, 0)
            )), 0)
        FROM parquet_metadata($path)
    """  # noqa: S608 - constants, values bound
    rows, columns, size = (int(figure) for figure in cursor.execute(query, path).fetchall()[0])
    if rows > settings.max_rows:
        raise TooLarge("intake.table.max_rows", settings.max_rows, rows)
    if columns > settings.max_columns:
        raise TooLarge("intake.table.max_columns", settings.max_columns, columns)
    if size > settings.max_uncompressed_bytes:
        raise TooLarge("intake.table.max_uncompressed_bytes", settings.max_uncompressed_bytes, size)
