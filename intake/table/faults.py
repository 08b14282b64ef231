"""DuckDB's errors in our words. Its own quote the file's rows and its path, so they are never chained or shown."""

import re

import duckdb

from headworks.intake.errors import BadMedia, IntakeError, TooLarge
from headworks.intake.table.settings import TableSettings
from headworks.intake.table.upload import PARQUET_IS_ENCRYPTED

_LINE = re.compile(r"CSV Error on Line: (\d+)")
_COLUMNS = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")
_CSV_REASONS = (
    ("unterminated quote", "a quoted field does not end"),
    ("unquoted value", "a quoted field is followed by more than a delimiter"),
    ("Invalid unicode", "the text is not UTF-8"),
    ("invalid state", "a quote or a line end stands where none may"),
)
_NOT_THE_FILE = (
    duckdb.ConversionException,
    duckdb.OutOfRangeException,
    duckdb.InternalException,
    duckdb.FatalException,
    duckdb.PermissionException,
)


class TableBroken(IntakeError):
    """DuckDB failed for a reason that lies neither in the file nor in the question: a fault of ours or of DuckDB."""

    def __init__(self, error: duckdb.Error) -> None:
        super().__init__(f"DuckDB failed with {type(error).__name__}")


class TableClosed(IntakeError):
    """The table was dropped before the question came."""


def query_fault(error: duckdb.Error | UnicodeDecodeError, part: int, settings: TableSettings) -> IntakeError:
    """As `fault`, for what DuckDB or its Python side raised on a query of a table that was read."""
    if isinstance(error, UnicodeDecodeError) or "unicode" in str(error):
        # A Parquet file may hold such bytes where nobody looks while it is read, as in its statistics.
        return BadMedia(f"table {part}: a text value is not UTF-8")
    return fault(error, settings)


def fault(error: duckdb.Error, settings: TableSettings) -> IntakeError:
    """The error to raise `from None` for what DuckDB raised where neither file nor filter can be wrong."""
    if isinstance(error, duckdb.InterruptException):
        return TooLarge("intake.table.max_seconds", settings.max_seconds, settings.max_seconds + 1)
    if isinstance(error, duckdb.OutOfMemoryException):
        return TooLarge("intake.table.max_memory_bytes", settings.max_memory_bytes, settings.max_memory_bytes + 1)
    if isinstance(error, duckdb.ConnectionException):
        return TableClosed("the table was dropped")
    return TableBroken(error)


def csv_fault(error: duckdb.Error, part: int, settings: TableSettings) -> IntakeError:
    """As `fault`, for what DuckDB raised while it read a CSV."""
    text = str(error)
    if "Maximum line size" in text:
        return TooLarge("intake.table.max_line_bytes", settings.max_line_bytes, settings.max_line_bytes + 1)
    if isinstance(error, duckdb.InvalidInputException):
        return BadMedia(f"table {part}: CSV{_line(text)}: {_csv_reason(text)}")
    return fault(error, settings)


def parquet_fault(error: duckdb.Error, part: int, settings: TableSettings) -> IntakeError:
    """As `fault`, for what DuckDB raised while it read a Parquet file."""
    known = fault(error, settings)
    if not isinstance(known, TableBroken) or isinstance(error, _NOT_THE_FILE):
        return known
    if "encrypt" in str(error):
        return BadMedia(f"table {part}: {PARQUET_IS_ENCRYPTED}")
    if isinstance(error, duckdb.NotImplementedException):
        return BadMedia(f"table {part}: Parquet uses a form that is not read here")
    return BadMedia(f"table {part}: Parquet has damaged pages or metadata")


def _line(text: str) -> str:
    found = _LINE.search(text)
    return f" line {found[1]}" if found else ""


def _csv_reason(text: str) -> str:
    if found := _COLUMNS.search(text):
        expected, seen = int(found[1]), int(found[2])
        # DuckDB stops counting at the first column too many.
        return f"{expected} columns expected, {'more' if seen > expected else seen} found"
    return next((reason for words, reason in _CSV_REASONS if words in text), "the rows cannot be read")
