"""Pages made of boxes, as PP-OCR would give them."""

import math

from headworks.intake.image.ocr.boxes import Box

LINE = 24
"""Height of a line's box; print of 16 pixels."""
LETTER = 9
"""Width of a letter."""


def box(text: str, left: float, top: float, right: float, bottom: float, confidence: float = 0.9) -> Box:
    """An upright box."""
    return Box(text, confidence, ((left, top), (right, top), (right, bottom), (left, bottom)))


def line(text: str, left: float, top: float) -> Box:
    """An upright box as wide as its text."""
    return box(text, left, top, left + LETTER * len(text), top + LINE)


def turned(one: Box, degrees: float) -> Box:
    """The box on a page that was turned clockwise about its top left corner."""
    sine, cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    first, second, third, fourth = (
        (across * cosine - down * sine, across * sine + down * cosine) for across, down in one.corners
    )
    return Box(one.text, one.confidence, (first, second, third, fourth))


def from_the_side(one: Box) -> Box:
    """The box on a page that is seen from its lower left: lines at the top slope more, and all are narrower there."""
    first, second, third, fourth = (
        (across * (0.8 + down / 2500), down + across * (0.12 - down / 9000)) for across, down in one.corners
    )
    return Box(one.text, one.confidence, (first, second, third, fourth))
