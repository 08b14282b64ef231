"""A reader without models: it finds what it was told to, and notes what it is asked for."""

from collections.abc import Mapping, Sequence

import numpy as np

from headworks.intake.image.ocr.rapid import Corners, Page
from headworks.intake.image.ocr.strips import Reading
from headworks.intake.image.picture import Pixels

Sides = tuple[int, int, int, int]
"""Left, top, right, bottom."""


class NotingSteps:
    """Finds print by the colour of a tile's first pixel, and reads a strip's colour as its text."""

    def __init__(self, found: Mapping[int, Sequence[Sides]], confidence: float = 0.9) -> None:
        self._found = found
        self._confidence = confidence
        self.tiles: list[tuple[int, int]] = []
        self.crops = 0
        self.most_crops = 0
        self.runs: list[list[tuple[int, int]]] = []

    def lay_out(self, tile: Pixels) -> Page:
        self.tiles.append(tile.shape[:2])
        return Page(tile, (1.0, 1.0), (0, 0))

    def find(self, page: Page) -> list[Corners]:
        boxes = self._found.get(int(page.pixels[0, 0, 0]), ())
        return [
            np.array([(left, top), (right, top), (right, bottom), (left, bottom)], np.float32)
            for left, top, right, bottom in boxes
        ]

    def crop(self, page: Page, corners: Corners) -> Pixels:
        self.crops += 1
        (left, top), (right, bottom) = corners[0].astype(int), corners[2].astype(int)
        return page.pixels[top:bottom, left:right]

    def turn(self, crops: Sequence[Pixels]) -> list[Pixels]:
        self.most_crops = max(self.most_crops, len(crops))
        return list(crops)

    def read(self, strips: Sequence[Pixels]) -> list[Reading]:
        self.runs.append([strip.shape[:2] for strip in strips])
        return [Reading(str(strip[-1, -1, 0]), self._confidence) for strip in strips]
