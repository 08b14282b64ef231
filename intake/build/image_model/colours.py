"""Names of colours: for tinting one-colour drawings, and for saying what colour a drawing mostly has."""

import numpy as np
from numpy.typing import NDArray

COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (220, 40, 40),
    "orange": (245, 140, 30),
    "yellow": (250, 210, 50),
    "green": (60, 165, 70),
    "blue": (50, 110, 215),
    "purple": (130, 70, 180),
    "pink": (240, 130, 175),
    "brown": (125, 80, 50),
    "black": (25, 25, 25),
    "white": (250, 250, 250),
    "grey": (140, 140, 145),
}
_NAMED = tuple(name for name in COLOURS if name not in ("black", "white", "grey"))
_SOLID = 40
"""Alpha from which a pixel counts."""
_MOST = 0.6
"""Share of the counted pixels that must be near one colour."""


def main_colour(drawing: NDArray[np.uint8]) -> str | None:
    """Name the colour that most of a drawing has; None for mixed, grey or unclear ones.

    Args:
        drawing: RGBA multiplied by alpha, shape (height, width, 4).
    """
    coarse = drawing[::3, ::3]
    solid = coarse[coarse[..., 3] > _SOLID].astype(np.float32)
    if not len(solid):
        return None
    colours = solid[:, :3] * (255 / solid[:, 3:])
    table = np.array(list(COLOURS.values()), np.float32)
    nearest = ((colours[:, None] - table) ** 2).sum(-1).argmin(1)
    counts = np.bincount(nearest, minlength=len(table))
    best = int(counts.argmax())
    name = list(COLOURS)[best]
    return name if counts[best] > _MOST * len(colours) and name in _NAMED else None
