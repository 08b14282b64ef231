"""Where something long is cut so that as little print as possible is cut through. Pure."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headworks.intake.image.picture import Pixels

_EVEN_SHARE = 0.8
"""Length of even pieces, of the most allowed. What is left is room on both sides to find a better place."""
_BLANK = 0.1
"""Of the way from the least to the most ink of a window: a column with less is as blank as the blankest."""


@dataclass(frozen=True, slots=True)
class Seam:
    """A place to cut: the middle of the widest blank run that is near."""

    place: int
    blank: int
    """Columns of that run."""


def find_seams(pixels: Pixels, most: int) -> list[Seam]:
    """Cut a picture across its width.

    Args:
        pixels: RGB, shape (height, width, 3); a view that has the long side as its width will do.
        most: Columns of a piece, at the most.
    Returns:
        From left to right; none where the width is allowed.
    """
    width = pixels.shape[1]
    if width <= most:
        return []
    pieces = -int(-width // (_EVEN_SHARE * most))
    reach = int(most * (1 - _EVEN_SHARE) / 2)
    middles = [width * number // pieces for number in range(1, pieces)]
    return [_blankest(pixels, middle - reach, middle + reach) for middle in middles]


def _blankest(pixels: Pixels, start: int, end: int) -> Seam:
    ink = _ink(pixels[:, start:end])
    is_blank = ink <= ink.min() + _BLANK * (ink.max() - ink.min())
    edges = np.flatnonzero(np.diff(np.concatenate(([0], is_blank, [0]))))
    begins, lengths = edges[::2], edges[1::2] - edges[::2]
    widest = int(lengths.argmax())
    return Seam(start + int(begins[widest] + lengths[widest] // 2), int(lengths[widest]))


def _ink(window: Pixels) -> NDArray[np.int64]:
    """How much each column changes from top to bottom: a rule or a shadow along the cut weighs little, print much."""
    steps = np.abs(np.diff(window.astype(np.int16), axis=0))
    ink: NDArray[np.int64] = steps.sum(axis=(0, 2), dtype=np.int64)
    return ink
