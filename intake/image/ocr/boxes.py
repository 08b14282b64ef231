"""Boxes of print: what was read in one place, and where that lies on the page. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from headworks.intake.span import ImageOrigin

Corner = tuple[float, float]
_SLOPED = 2
"""Width over height from which a box's own slope is trusted: the corners of a shorter one are too near each other."""
VERTICAL = 1.5
"""Height over width from which rapidocr lays a crop level to read it (process_img.py, get_rotate_crop_image)."""
_VERTICAL_CHARACTERS = 3
"""Fewer make a box that is higher than wide without being vertical print: "1" or "I"."""


@dataclass(frozen=True, slots=True)
class Box:
    """What PP-OCR read in one place."""

    text: str
    confidence: float
    corners: tuple[Corner, Corner, Corner, Corner]
    """In the picture's pixels, within it; clockwise from the text's top left."""

    @property
    def width(self) -> float:
        """Length of the upper edge."""
        return math.dist(self.corners[0], self.corners[1])

    @property
    def height(self) -> float:
        """Mean length of the edges at both ends."""
        top_left, top_right, bottom_right, bottom_left = self.corners
        return (math.dist(top_left, bottom_left) + math.dist(top_right, bottom_right)) / 2

    @property
    def is_vertical(self) -> bool:
        """Whether the print runs from top to bottom."""
        return self.height >= VERTICAL * self.width and len(self.text) >= _VERTICAL_CHARACTERS


@dataclass(frozen=True, slots=True)
class Placed:
    """A box on the page as it would lie if the page's lines were level."""

    box: Box
    left: float
    right: float
    middle: float
    """From the page's top to the middle of the box's height, at its centre."""
    slope: float
    """Down per across, of this box alone: perspective gives each line another one."""
    height: float

    @property
    def centre(self) -> float:
        """From the page's left."""
        return (self.left + self.right) / 2

    def middle_at(self, across: float) -> float:
        """Where the line that the box lies on passes another place of the page."""
        return self.middle + self.slope * (across - self.centre)


def level(boxes: Sequence[Box]) -> list[Placed]:
    """Turn the page so that the median of its boxes is level."""
    angle = median([_angle(box) for box in boxes if _is_sloped(box)] or [0.0])
    return [_place(box, angle) for box in boxes]


def frame(boxes: Sequence[Box]) -> ImageOrigin:
    """Return the upright box around some boxes, in the picture's pixels."""
    across, down = zip(*(corner for box in boxes for corner in box.corners), strict=True)
    return ImageOrigin(math.floor(min(across)), math.floor(min(down)), math.ceil(max(across)), math.ceil(max(down)))


def _is_sloped(box: Box) -> bool:
    return box.width >= _SLOPED * box.height


def _angle(box: Box) -> float:
    """Radians, clockwise, of the way from the middle of the left edge to that of the right edge."""
    left, right = _ends(box)
    return math.atan2(right[1] - left[1], right[0] - left[0])


def _ends(box: Box) -> tuple[Corner, Corner]:
    top_left, top_right, bottom_right, bottom_left = box.corners
    return _between(top_left, bottom_left), _between(top_right, bottom_right)


def _between(one: Corner, other: Corner) -> Corner:
    return (one[0] + other[0]) / 2, (one[1] + other[1]) / 2


def _place(box: Box, angle: float) -> Placed:
    sine, cosine = math.sin(angle), math.cos(angle)
    (left, left_middle), (right, right_middle) = (
        (across * cosine + down * sine, down * cosine - across * sine) for across, down in _ends(box)
    )
    slope = (right_middle - left_middle) / (right - left) if _is_sloped(box) and right > left else 0.0
    if box.is_vertical or right < left:
        turned = [across * cosine + down * sine for across, down in box.corners]
        left, right = min(turned), max(turned)
    return Placed(box, left, right, (left_middle + right_middle) / 2, slope, box.height)
