"""Columns of running text, which are read one after the other and not across. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from headworks.intake.image.ocr.rows import Row

_LEAST_ROWS = 3
"""Of each column. Two short lines side by side are as often a table."""
_LEAST_WIDTH = 8
"""Of a column, in heights of a line: some sixteen letters. Prices and other cells of tables are narrower."""
_LEAST_FILL = 0.6
"""Of a column's width, by half of its lines: running text fills its lines, and the cells of a table differ."""
_LEAST_GUTTER = 0.5
"""In heights of a line. Boxes are wider than the print, so the white between columns is wider than this."""
_MOST_PITCH = 2.5
"""Between the middles of two rows, in heights of a line. A single line after more white belongs to what follows."""
_HEADING = 1.25
"""Of a line's height: a single line that is higher is a heading over all columns."""


@dataclass(frozen=True, slots=True)
class _Gutter:
    left: float
    right: float

    @property
    def centre(self) -> float:
        return (self.left + self.right) / 2

    @property
    def width(self) -> float:
        return self.right - self.left

    def beside(self, row: Row) -> "_Gutter":
        """Return what of it a row leaves white, none where a box lies across its centre."""
        if any(box.left < self.centre < box.right for box in row):
            return _Gutter(self.centre, self.centre)
        return _Gutter(
            max([self.left, *(box.right for box in row if box.right <= self.centre)]),
            min([self.right, *(box.left for box in row if box.left >= self.centre)]),
        )


def split_columns(rows: Sequence[Row]) -> list[Row]:
    """Put rows into reading order: where the page has columns, each row is split and the left column comes first.

    Args:
        rows: From top to bottom.
    """
    ordered: list[Row] = []
    place = 0
    while place < len(rows):
        found = next(_blocks(rows, place), None)
        if found is None:
            ordered.append(rows[place])
            place += 1
        else:
            place, left, right = found
            ordered += left + split_columns(right)
    return ordered


def _blocks(rows: Sequence[Row], start: int) -> Iterator[tuple[int, list[Row], list[Row]]]:
    """Yield the row after a block of two columns and the rows of both, for each gap of the first row that parts two."""
    for one, other in pairwise(rows[start]):
        end, gutter = _follow(rows, start, _Gutter(one.right, other.left))
        left = [part for row in rows[start:end] if (part := [box for box in row if box.centre < gutter.centre])]
        right = [part for row in rows[start:end] if (part := [box for box in row if box.centre >= gutter.centre])]
        if _is_running_text(left) and _is_running_text(right):
            yield end, left, right


def _follow(rows: Sequence[Row], start: int, gutter: _Gutter) -> tuple[int, _Gutter]:
    """Return the first row that a gutter does not go on beside, and what all rows before it leave of the gutter."""
    for end in range(start, len(rows)):
        height = _height(rows[start : end + 1])
        narrower = gutter.beside(rows[end])
        if narrower.width < _LEAST_GUTTER * height or (end > start and _begins_anew(rows[end - 1], rows[end], height)):
            return end, gutter
        gutter = narrower
    return len(rows), gutter


def _begins_anew(before: Row, row: Row, height: float) -> bool:
    """Tell whether a line that stands alone is no line of a column: a heading, or after much white."""
    is_far = row[0].middle - before[0].middle > _MOST_PITCH * height
    return len(row) == 1 and (is_far or row[0].height > _HEADING * height)


def _is_running_text(rows: Sequence[Row]) -> bool:
    if len(rows) < _LEAST_ROWS:
        return False
    width = max(row[-1].right for row in rows) - min(row[0].left for row in rows)
    usual = median(row[-1].right - row[0].left for row in rows)
    return usual >= _LEAST_WIDTH * _height(rows) and usual >= _LEAST_FILL * width


def _height(rows: Sequence[Row]) -> float:
    return median(box.height for row in rows for box in row)
