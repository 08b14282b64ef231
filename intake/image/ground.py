"""What a transparent picture is laid on, so that what is printed on it can be seen."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

WHITE, BLACK, GREY = 255, 0, 128
_GROUNDS = (WHITE, BLACK, GREY)
"""In the order of preference: paper is white, and an image-text model learns from pictures on white."""
_NEAR = 64
"""Levels of 255. A colour nearer to the ground than this, in red, green and blue alike, is hardly seen on it."""


def choose_ground(bands: Iterable[NDArray[np.uint8]]) -> int:
    """Return the grey level that hides the least of what touches it.

    Only the edges of what is visible count: a drawing with a black outline may be white within.

    Args:
        bands: RGBA, shape (rows, width, 4); together the whole picture.
    """
    hidden = np.zeros(len(_GROUNDS), np.int64)
    for band in bands:
        edge = band[_edges(band[:, :, 3])][:, :3].astype(np.int16)
        hidden += [(np.abs(edge - ground) < _NEAR).all(axis=1).sum() for ground in _GROUNDS]
    return _GROUNDS[int(hidden.argmin())]


def lay(band: NDArray[np.uint8], ground: int) -> NDArray[np.uint8]:
    """Blend RGBA with a grey ground; returns RGB of the same size."""
    colour, alpha = band[:, :, :3].astype(np.uint16), band[:, :, 3:].astype(np.uint16)
    blended: NDArray[np.uint16] = (colour * alpha + ground * (255 - alpha) + 127) // 255
    return blended.astype(np.uint8)


def _edges(alpha: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Visible pixels with a neighbour, to a side or above or below, that is not. The soft rim around a letter is not
    visible in this sense: its colour may be anything."""
    is_visible = alpha > alpha.max(initial=0) // 2
    within = is_visible.copy()
    within[1:] &= is_visible[:-1]
    within[:-1] &= is_visible[1:]
    within[:, 1:] &= is_visible[:, :-1]
    within[:, :-1] &= is_visible[:, 1:]
    edges: NDArray[np.bool_] = is_visible & ~within
    return edges
