"""Printed lines in the order in which a person reads them. Pure."""

from collections.abc import Sequence

from headworks.intake.finding import TextLine
from headworks.intake.image.ocr.boxes import Box, frame, level
from headworks.intake.image.ocr.columns import split_columns
from headworks.intake.image.ocr.rows import Row, join_rows


def join_lines(boxes: Sequence[Box]) -> tuple[TextLine, ...]:
    """Join what stands side by side on one line of a page, which may be turned or seen from the side.

    Returns:
        From top to bottom, column by column. A line's confidence is the least of its boxes'.
    """
    return tuple(_line(row) for row in split_columns(join_rows(level(boxes))))


def _line(row: Row) -> TextLine:
    boxes = [one.box for one in row]
    return TextLine(" ".join(box.text for box in boxes), min(box.confidence for box in boxes), frame(boxes))
