"""PP-OCR: a picture in, printed lines out. Blocking: use a `WorkPool`."""

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from headworks.intake.finding import TextLine
from headworks.intake.image.ocr.boxes import VERTICAL, Box, Corner
from headworks.intake.image.ocr.lines import join_lines
from headworks.intake.image.ocr.rapid import Corners, OcrSteps, Page, RapidSteps
from headworks.intake.image.ocr.strips import Reading, Strip, cut_strips, join_readings, runs
from headworks.intake.image.ocr.tiles import Tile, cut_tiles
from headworks.intake.image.picture import Pixels
from headworks.intake.models.store import ModelKind, ModelStore
from headworks.intake.onnx.provider import ProviderChoice
from headworks.intake.onnx.session import open_session
from headworks.intake.onnx.settings import OnnxSettings

_LEAST_CONFIDENCE = 0.5
"""Below it, rapidocr leaves a box out (config.yaml, text_score)."""
_LEAST_PRINT = 6
"""Pixels of a picture's short side. Letters that are lower are not read, and a thin line has none."""
_TURNED = 6
"""Crops whose orientation is told in one run (rapidocr's config.yaml, cls_batch_num)."""


class OcrModel:
    """Finds and reads printed lines. Threads take turns: rapidocr keeps state during a call.

    A picture of any shape costs about as much memory as a square one. Detection gets tiles of four million pixels at
    the most, crops are made when they are read, and a recognition run holds a bounded number of columns.
    """

    def __init__(self, steps: OcrSteps, choice: ProviderChoice) -> None:
        self.choice = choice
        self._steps = steps
        self._lock = threading.Lock()

    @classmethod
    def load(cls, store: ModelStore, settings: OnnxSettings) -> "OcrModel":
        """Open the store's OCR model; takes about two seconds.

        Raises:
            ModelMissing: not in the store, or damaged.
            NoProvider: none of the wanted execution providers is usable.
        """
        folder = store.find(ModelKind.OCR).path
        detection, orientation, recognition = (
            open_session(folder / f"{name}.onnx", settings, keeps_memory=False)
            for name in ("detection", "orientation", "recognition")
        )
        return cls(RapidSteps.load(detection, orientation, recognition, folder / "characters.txt"), detection.choice)

    def read(self, pixels: Pixels, max_lines: int) -> tuple[TextLine, ...]:
        """Read a picture.

        Args:
            pixels: RGB, shape (height, width, 3).
            max_lines: The lines after these, in reading order, are left out.
        Returns:
            Printed lines from top to bottom, column by column; what stands side by side on one line is one line.
        """
        height, width = pixels.shape[:2]
        boxes: list[Box] = []
        if min(height, width) < _LEAST_PRINT:
            return ()
        for tile in cut_tiles(pixels):
            with self._lock:
                boxes += self._read_tile(tile)
            if height > width and len(join_lines(boxes)) >= max_lines:
                break
        return join_lines(boxes)[:max_lines]

    def _read_tile(self, tile: Tile) -> list[Box]:
        page = self._steps.lay_out(tile.pixels)
        places = sorted(self._steps.find(page), key=_ratio)
        parts: dict[int, list[tuple[Strip, Reading]]] = defaultdict(list)
        for run in runs(self._strips(page, places)):
            for strip, reading in zip(run, self._steps.read([one.pixels for one in run]), strict=True):
                parts[strip.box].append((strip, reading))
        readings = {number: join_readings(found) for number, found in parts.items()}
        return [
            Box(one.text, min(one.confidence, 1.0), _corners(page.on_tile(places[number]), tile))
            for number, one in readings.items()
            if one.text.strip() and one.confidence >= _LEAST_CONFIDENCE
        ]

    def _strips(self, page: Page, places: Sequence[Corners]) -> Iterator[Strip]:
        """Make crops a few at a time, upright, in the order of places."""
        for start in range(0, len(places), _TURNED):
            crops = [self._steps.crop(page, corners) for corners in places[start : start + _TURNED]]
            for number, crop in enumerate(self._steps.turn(crops), start):
                yield from cut_strips(number, crop)


def _ratio(corners: Corners) -> float:
    """Width over height of a crop, after vertical print was laid level; strips of like ratio make full runs."""
    along = float(np.linalg.norm(corners[1] - corners[0]))
    down = float(np.linalg.norm(corners[3] - corners[0]))
    return max(along, 1) / max(down, 1) if down < VERTICAL * along else down / max(along, 1)


def _corners(corners: Corners, tile: Tile) -> tuple[Corner, Corner, Corner, Corner]:
    """Return corners in the picture's pixels, none of them outside of the tile."""
    height, width = tile.pixels.shape[:2]
    across, down = np.clip(corners[:, 0], 0, width) + tile.left, np.clip(corners[:, 1], 0, height) + tile.top
    first, second, third, fourth = zip(across.tolist(), down.tolist(), strict=True)
    return first, second, third, fourth
