"""How a CSV is written: where its rows begin and what stands between its cells. Decided from its first kilobytes."""

import csv
import io
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

DELIMITERS = ",;\t|"
_COMPARED_ROWS = 100
_SEPARATOR_LINE = re.compile(r'"?sep=([^"\w\s]|\t)"?', re.IGNORECASE)
_COMMENT = "#"


@dataclass(frozen=True, slots=True)
class Dialect:
    """What DuckDB has to be told."""

    delimiter: str
    skipped_lines: int
    """Lines before the first row."""
    first_row: tuple[str, ...]
    """Its cells as text."""


def read_dialect(text: str, *, is_cut: bool) -> Dialect | None:
    """Tell the dialect from the beginning of a CSV.

    Lines before the first row are skipped: Excel's `sep=;` (python/cpython#109644), which names the delimiter, blank
    lines, and comments. A line with `#` is a comment unless it has as many cells as the line below the comments.

    Args:
        text: Whole lines that end in LF or CR LF.
        is_cut: More lines follow, so that the last row may lack its end.
    Returns:
        None where there is no row.
    """
    lines = list(io.StringIO(text, newline="\n"))
    separator = _SEPARATOR_LINE.fullmatch(lines[0].rstrip("\r\n")) if lines else None
    skipped = 1 if separator else 0
    skipped += _blank_lines(lines[skipped:])
    skipped += _comment_lines(lines[skipped:])
    rest = "".join(lines[skipped:])
    delimiter = separator[1] if separator else _best_delimiter(rest, is_cut=is_cut)
    rows = _rows(rest, delimiter)
    return Dialect(delimiter, skipped, tuple(rows[0])) if rows else None


def _blank_lines(lines: Sequence[str]) -> int:
    return next((number for number, line in enumerate(lines) if line.strip()), len(lines))


def _comment_lines(lines: Sequence[str]) -> int:
    """How many lines at the beginning are comments, blank ones among them."""
    count = next((n for n, line in enumerate(lines) if line.strip() and not line.startswith(_COMMENT)), 0)
    below = lines[count] if count else ""
    if not any(mark in below for mark in DELIMITERS):
        return 0
    last = max((n for n in range(count) if lines[n].startswith(_COMMENT)), default=0)
    is_header = any(mark in below and lines[last].count(mark) == below.count(mark) for mark in DELIMITERS)
    return last if is_header else count


def _best_delimiter(text: str, *, is_cut: bool) -> str:
    """The one that gives the first row most cells, among those that give the next rows as many if there is any."""
    widths = {mark: [len(row) for row in _rows(text, mark)] for mark in DELIMITERS}
    if is_cut:
        widths = {mark: found[:-1] or found for mark, found in widths.items()}
    even = [mark for mark, found in widths.items() if len(set(found)) == 1 and found[0] > 1]
    return max(even or DELIMITERS, key=lambda mark: max(widths[mark][:1], default=0))


def _rows(text: str, delimiter: str) -> list[list[str]]:
    """The first rows, without blank lines, up to one with a cell that is too long for Python's reader."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    rows: list[list[str]] = []
    with suppress(csv.Error):
        rows.extend(row for row in islice(reader, _COMPARED_ROWS) if row)
    return rows
