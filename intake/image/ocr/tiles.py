"""A long picture cut into tiles that PP-OCR can read without shrinking them until nothing is left. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from headworks.intake.image.ocr.seams import find_seams
from headworks.intake.image.picture import Pixels

LONGEST = 2000
"""Pixels; rapidocr shrinks a longer side to this (config.yaml, max_side_len)."""
_LONG = 4
"""Long side over short side from which a picture is cut. A page or a screen is not as long."""
_TILE = 2
"""Long side over short side of a tile whose short side alone is long."""
_WIDEST, _TALLEST = 32, 8
"""Width over height, and height over width, that detection gets. It enlarges the short side to 736 pixels, so that its
input has up to 8 * 736 * 736 pixels, about as many as the 2,000 * 2,000 of a large square; rapidocr itself pads what is
wider than 8 to 4, and fails from 64 on."""
_WHITE = 255


@dataclass(frozen=True, slots=True)
class Tile:
    """A part of a picture."""

    pixels: Pixels
    left: int
    """Where it lies in the picture."""
    top: int


def cut_tiles(pixels: Pixels) -> Iterator[Tile]:
    """Yield a picture in one tile, or a long one in several, from top to bottom or from left to right.

    Args:
        pixels: RGB, shape (height, width, 3).
    """
    height, width = pixels.shape[:2]
    long, short = max(height, width), min(height, width)
    if long <= max(LONGEST, _LONG * short):
        yield Tile(pixels, 0, 0)
        return
    is_tall = height > width
    lying = pixels.swapaxes(0, 1) if is_tall else pixels
    cuts = [seam.place for seam in find_seams(lying, max(LONGEST, _TILE * short))]
    for start, end in pairwise([0, *cuts, long]):
        yield Tile(pixels[start:end], 0, start) if is_tall else Tile(pixels[:, start:end], start, 0)


def pad_slim(pixels: Pixels) -> Pixels:
    """Add white at the right or below until a picture is neither wider nor taller than detection may get it."""
    height, width = pixels.shape[:2]
    tall, wide = max(height, -(-width // _WIDEST)), max(width, -(-height // _TALLEST))
    if (tall, wide) == (height, width):
        return pixels
    return np.pad(pixels, ((0, tall - height), (0, wide - width), (0, 0)), constant_values=_WHITE)
