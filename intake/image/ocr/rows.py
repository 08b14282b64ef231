"""Boxes that stand side by side, joined to rows. Pure."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headworks.intake.image.ocr.boxes import Placed

Row = list[Placed]
"""From left to right, one box at least."""

_GAP_WEIGHT = 0.02
"""What a gap costs beside an offset: a slope is known to about a degree, so that much may the line be off after it."""
_SHARED = 0.5
"""Of the lower height: how far neighbours may reach into each other, since PP-OCR's boxes are wider than the print."""


def join_rows(boxes: Sequence[Placed]) -> list[Row]:
    """Join boxes whose lines meet, those that fit best first.

    A box is on another's line when at least half of the lower of the two heights overlaps, once the line is drawn on
    along the wider one's slope. Vertical print stands alone.

    Returns:
        From top to bottom.
    """
    rows = {number: [one] for number, one in enumerate(boxes)}
    row_of = list(range(len(boxes)))
    for one, other in _pairs(boxes):
        into, source = row_of[one], row_of[other]
        if into != source and _are_apart(rows[into], rows[source]):
            rows[into] += rows.pop(source)
            row_of = [into if row == source else row for row in row_of]
    joined = [sorted(row, key=lambda box: box.left) for row in rows.values()]
    return sorted(joined, key=lambda row: (sum(box.middle for box in row) / len(row), row[0].left))


def _pairs(boxes: Sequence[Placed]) -> list[tuple[int, int]]:
    """List the pairs of boxes that may share a line, the best fit first."""
    left, right, middle, slope, height = _columns(boxes)
    width, centre = right - left, (left + right) / 2
    may_join = np.array([not box.box.is_vertical for box in boxes])
    found: list[tuple[float, int, int]] = []
    for one in range(len(boxes)):
        others = np.arange(one + 1, len(boxes))
        is_wider = width[one] >= width[others]
        along = np.where(is_wider, slope[one], slope[others]) * (centre[others] - centre[one])
        offset = np.abs(middle[others] - middle[one] - along)
        gap = np.maximum(left[others] - right[one], left[one] - right[others])
        lower = np.minimum(height[one], height[others])
        is_level = (height[one] + height[others]) / 2 - offset >= lower / 2
        is_pair = is_level & (gap >= -_SHARED * lower) & may_join[one] & may_join[others]
        cost = (offset + _GAP_WEIGHT * gap) / np.maximum(lower, 1)
        found += [(float(cost[place]), one, int(others[place])) for place in np.flatnonzero(is_pair)]
    return [(one, other) for _, one, other in sorted(found)]


def _columns(boxes: Sequence[Placed]) -> tuple[NDArray[np.float64], ...]:
    values = np.array([(box.left, box.right, box.middle, box.slope, box.height) for box in boxes], np.float64)
    return tuple(values.reshape(-1, 5).T)


def _are_apart(one: Row, other: Row) -> bool:
    return all(
        max(a.left - b.right, b.left - a.right) >= -_SHARED * min(a.height, b.height) for a in one for b in other
    )
