"""PP-OCR through rapidocr, on sessions of our own. Blocking: use a `WorkPool`."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headworks.intake.finding import TextLine
from headworks.intake.image.picture import Pixels
from headworks.intake.models.store import ModelKind, ModelStore
from headworks.intake.onnx.provider import ProviderChoice
from headworks.intake.onnx.session import open_session
from headworks.intake.onnx.settings import OnnxSettings
from headworks.intake.span import ImageOrigin

_MAX_RATIO = 32
"""Long side over short side; rapidocr fails on thinner pictures."""


@dataclass(frozen=True, slots=True)
class Box:
    """What PP-OCR read in one place."""

    text: str
    confidence: float
    place: ImageOrigin


class OcrModel:
    """Finds and reads printed lines. Threads take turns: rapidocr keeps state during a call."""

    def __init__(self, engine: Any, choice: ProviderChoice) -> None:
        self.choice = choice
        self._engine = engine
        self._lock = threading.Lock()

    @classmethod
    def load(cls, store: ModelStore, settings: OnnxSettings) -> "OcrModel":
        """Open the store's OCR model; takes about two seconds.

        Raises:
            ModelMissing: not in the store, or damaged.
            NoProvider: none of the wanted execution providers is usable.
        """
        folder = store.find(ModelKind.OCR).path
        sessions = {
            section: open_session(folder / f"{name}.onnx", settings)
            for section, name in (("Det", "detection"), ("Rec", "recognition"), ("Cls", "orientation"))
        }
        from omegaconf import flag_override
        from rapidocr import RapidOCR

        engine = RapidOCR(params={"Global.log_level": "critical", "Rec.rec_keys_path": str(folder / "characters.txt")})
        # Its settings hold plain values only, unless told; it takes a session instead of a path all the same.
        with flag_override(engine.cfg, "allow_objects", values=True):
            for section, session in sessions.items():
                engine.cfg[section].session = session.raw
        return cls(engine, sessions["Det"].choice)

    def read(self, pixels: Pixels, max_lines: int) -> tuple[TextLine, ...]:
        """Read a picture.

        Args:
            pixels: RGB, shape (height, width, 3).
            max_lines: The lines after these, in reading order, are left out.
        Returns:
            Printed lines from top to bottom; what stands side by side on one line is one line.
        """
        height, width = pixels.shape[:2]
        blue_first = np.ascontiguousarray(_pad_thin(pixels)[:, :, ::-1])
        with self._lock:
            found = self._engine(blue_first)
        if found.boxes is None or found.txts is None or found.scores is None:
            return ()
        boxes = [
            Box(text, min(max(float(score), 0.0), 1.0), _frame(corners, width, height))
            for text, score, corners in zip(found.txts, found.scores, found.boxes, strict=True)
        ]
        return join_lines(boxes)[:max_lines]


def join_lines(boxes: Sequence[Box]) -> tuple[TextLine, ...]:
    """Join what stands side by side, and put the lines in reading order.

    A box belongs to a line when at least half of the lower of the two heights overlaps. The line's confidence
    is the least of its boxes'.
    """
    rows: list[list[Box]] = []
    for box in sorted(boxes, key=lambda one: (one.place.top + one.place.bottom, one.place.left)):
        if rows and _share_a_line(rows[-1][-1].place, box.place):
            rows[-1].append(box)
        else:
            rows.append([box])
    return tuple(_line(row) for row in rows)


def _share_a_line(one: ImageOrigin, other: ImageOrigin) -> bool:
    overlap = min(one.bottom, other.bottom) - max(one.top, other.top)
    lower = min(one.bottom - one.top, other.bottom - other.top)
    is_apart = one.right <= other.left or other.right <= one.left
    return is_apart and 2 * overlap >= lower > 0


def _line(row: list[Box]) -> TextLine:
    row = sorted(row, key=lambda one: one.place.left)
    places = [one.place for one in row]
    frame = ImageOrigin(
        min(one.left for one in places),
        min(one.top for one in places),
        max(one.right for one in places),
        max(one.bottom for one in places),
    )
    return TextLine(" ".join(one.text for one in row), min(one.confidence for one in row), frame)


def _frame(corners: Any, width: int, height: int) -> ImageOrigin:
    """The upright box around four corners, shape (4, 2), within the picture."""
    across, down = np.clip(corners[:, 0], 0, width), np.clip(corners[:, 1], 0, height)
    return ImageOrigin(
        int(np.floor(across.min())), int(np.floor(down.min())), int(np.ceil(across.max())), int(np.ceil(down.max()))
    )


def _pad_thin(pixels: Pixels) -> Pixels:
    height, width = pixels.shape[:2]
    tall, wide = max(height, -(-width // _MAX_RATIO)), max(width, -(-height // _MAX_RATIO))
    if (tall, wide) == (height, width):
        return pixels
    return np.pad(pixels, ((0, tall - height), (0, wide - width), (0, 0)), constant_values=255)
