"""DuckDB's errors in our words. Its own quote the file's rows and its path, so they are never chained or shown."""

import re

import duckdb

from headworks.intake.errors import BadMedia, IntakeError, TooLarge
from headworks.intake.table.settings import TableSettings

_LINE = re.compile(r"CSV Error on Line: (\d+)")
_COLUMNS = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")
_CSV_REASONS = (
    ("unterminated quote", "a quoted field does not end"),
    ("unquoted value", "a quoted field is followed by more than a delimiter"),
    ("Invalid unicode", "the text is not UTF-8"),
    ("Could not convert", "a value does not fit its column's type"),
    ("when converting column", "a value does not fit its column's type"),
    ("when sniffing file", "no delimiter splits the rows alike"),
)


def translate(error: duckdb.Error, part: int, settings: TableSettings) -> IntakeError:
    """The error to raise `from None` for what DuckDB raised on a table."""
    text = str(error)
    if isinstance(error, duckdb.InterruptException):
        return TooLarge("intake.table.max_seconds", settings.max_seconds, settings.max_seconds + 1)
    if isinstance(error, duckdb.OutOfMemoryException):
        return TooLarge("intake.table.max_memory_bytes", settings.max_memory_bytes, settings.max_memory_bytes + 1)
    if "Maximum line size" in text:
        return TooLarge("intake.table.max_line_bytes", settings.max_line_bytes, settings.max_line_bytes + 1)
    if "CSV" in text:
        return BadMedia(f"table {part}: CSV{_line(text)}: {_csv_reason(text)}")
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
