"""rapidocr's steps, one by one: it finds print, turns crops of it upright, and reads them.

Its own pipeline makes every crop at once, each of them twice, and pads them to the widest: `OcrModel` feeds it instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headworks.intake.image.ocr.strips import Reading
from headworks.intake.image.ocr.tiles import pad_slim
from headworks.intake.image.picture import Pixels
from headworks.intake.onnx.session import Session

Corners = NDArray[np.float32]
"""Of print, shape (4, 2), across and down; clockwise from the print's top left."""
_TURN_RATIO = 4
"""Width over height of what orientation is told from (rapidocr's config.yaml, cls_image_shape: 192 by 48)."""


@dataclass(frozen=True, slots=True)
class Page:
    """A tile as detection took it."""

    pixels: Pixels
    """Blue first, as rapidocr wants it, scaled and padded."""
    scale: tuple[float, float]
    """Pixels of the tile per pixel of the page, across and down."""
    padded: tuple[int, int]
    """Pixels of the page before the tile begins, across and down."""

    def on_tile(self, corners: Corners) -> Corners:
        """Return where corners on the page lie on the tile."""
        return (corners - np.array(self.padded, np.float32)) * np.array(self.scale, np.float32)


class OcrSteps(Protocol):
    """What reads a picture, step by step."""

    def lay_out(self, tile: Pixels) -> Page:
        """Scale and pad a tile, RGB, for detection."""
        ...

    def find(self, page: Page) -> list[Corners]:
        """Find print on a page."""
        ...

    def crop(self, page: Page, corners: Corners) -> Pixels:
        """Cut print out of a page and lay it flat."""
        ...

    def turn(self, crops: Sequence[Pixels]) -> list[Pixels]:
        """Turn those crops that stand on their head."""
        ...

    def read(self, strips: Sequence[Pixels]) -> list[Reading]:
        """Read strips in one run."""
        ...


class RapidSteps:
    """`OcrSteps` by rapidocr. One thread at a time: it keeps state during a call."""

    def __init__(self, detector: Any, classifier: Any, recognizer: Any, settings: Any) -> None:
        self._detector, self._classifier, self._recognizer = detector, classifier, recognizer
        self._settings = settings

    @classmethod
    def load(cls, detection: Session, orientation: Session, recognition: Session, characters: Path) -> "RapidSteps":
        """Take PP-OCR's three graphs, and the characters that recognition tells apart; importing takes a second."""
        from omegaconf import flag_override
        from rapidocr import RapidOCR
        from rapidocr.ch_ppocr_cls import TextClassifier
        from rapidocr.ch_ppocr_det import TextDetector
        from rapidocr.ch_ppocr_rec import TextRecognizer

        params = {"Global.log_level": "critical", "Rec.rec_keys_path": str(characters), "Rec.font_path": ""}
        settings = RapidOCR(params=params).cfg
        # Its settings hold plain values only, unless told; it takes a session instead of a path all the same.
        with flag_override(settings, "allow_objects", values=True):
            for section, session in (("Det", detection), ("Cls", orientation), ("Rec", recognition)):
                settings[section].session = session.raw
        return cls(
            TextDetector(settings.Det), TextClassifier(settings.Cls), TextRecognizer(settings.Rec), settings.Global
        )

    def lay_out(self, tile: Pixels) -> Page:
        """See `OcrSteps`."""
        from rapidocr.utils.process_img import apply_vertical_padding, resize_image_within_bounds

        own, padded = self._settings, np.ascontiguousarray(pad_slim(tile))
        scaled, down, across = resize_image_within_bounds(padded, own.min_side_len, own.max_side_len)
        page, record = apply_vertical_padding(scaled, {}, own.width_height_ratio, own.min_height)
        above = record["padding_1"]
        return Page(np.ascontiguousarray(page[:, :, ::-1]), (across, down), (above["left"], above["top"]))

    def find(self, page: Page) -> list[Corners]:
        """See `OcrSteps`."""
        boxes = self._detector(page.pixels).boxes
        return [] if boxes is None else list(boxes)

    def crop(self, page: Page, corners: Corners) -> Pixels:
        """See `OcrSteps`."""
        from rapidocr.utils.process_img import get_rotate_crop_image

        crop: Pixels = get_rotate_crop_image(page.pixels, corners.copy())
        return crop

    def turn(self, crops: Sequence[Pixels]) -> list[Pixels]:
        """See `OcrSteps`."""
        told = self._classifier([_middle(crop) for crop in crops]).cls_res
        is_turned = ["180" in label and score > self._classifier.cls_thresh for label, score in told]
        pairs = zip(crops, is_turned, strict=True)
        return [np.ascontiguousarray(crop[::-1, ::-1]) if turned else crop for crop, turned in pairs]

    def read(self, strips: Sequence[Pixels]) -> list[Reading]:
        """See `OcrSteps`."""
        from rapidocr.ch_ppocr_rec import TextRecInput

        found = self._recognizer(TextRecInput(img=list(strips), return_word_box=False))
        return [Reading(text, float(score)) for text, score in zip(found.txts, found.scores, strict=True)]


def _middle(crop: Pixels) -> Pixels:
    """Cut a long line to what orientation is told from. rapidocr squeezes the whole line into that instead: of 35 lines
    of a page's width on their head it saw 25, and this way all; of 35 upright ones it turned one, and this way none."""
    height, width = crop.shape[:2]
    wide = min(width, _TURN_RATIO * height)
    start = (width - wide) // 2
    return crop[:, start : start + wide]
