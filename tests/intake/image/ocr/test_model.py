"""Printed lines."""

from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from headworks.intake.errors import ModelMissing
from headworks.intake.finding import TextLine
from headworks.intake.image.ocr import Box, OcrModel, join_lines
from headworks.intake.image.picture import decode
from headworks.intake.image.settings import ImageSettings
from headworks.intake.models.store import ModelStore
from headworks.intake.onnx.settings import OnnxSettings
from headworks.intake.span import ImageOrigin
from tests.intake.image.pictures import draw

RECEIPT = (resources.files("headworks.server.cli.demo") / "receipt.png").read_bytes()


@pytest.fixture(scope="module")
def ocr(store: ModelStore) -> OcrModel:
    return OcrModel.load(store, OnnxSettings())


def box(text: str, left: int, top: int, right: int, bottom: int, confidence: float = 0.9) -> Box:
    return Box(text, confidence, ImageOrigin(left, top, right, bottom))


def test_side_by_side_is_one_line_in_reading_order() -> None:
    """A price belongs to its item."""
    boxes = [
        box("3.50", 200, 12, 240, 30, 0.7),
        box("Tea", 10, 50, 60, 70),
        box("Coffee", 10, 10, 80, 30),
        box("2.00", 200, 48, 240, 69),
    ]
    assert join_lines(boxes) == (
        TextLine("Coffee 3.50", 0.7, ImageOrigin(10, 10, 240, 30)),
        TextLine("Tea 2.00", 0.9, ImageOrigin(10, 48, 240, 70)),
    )


def test_close_lines_stay_apart() -> None:
    """Tight print overlaps a little without being one line."""
    boxes = [box("one", 10, 10, 80, 30), box("two", 10, 26, 80, 46), box("three", 100, 41, 180, 60)]
    assert [line.text for line in join_lines(boxes)] == ["one", "two", "three"]


def test_missing_model_says_what_to_run(tmp_path: Path) -> None:
    """The operator's task."""
    with pytest.raises(ModelMissing, match="headworks models pull"):
        OcrModel.load(ModelStore(tmp_path), OnnxSettings())


@pytest.mark.models
def test_printed_words_of_the_demo_picture_are_read(ocr: OcrModel) -> None:
    """Issue: OCR finds the picture's printed words."""
    lines = ocr.read(decode(RECEIPT, 1, ImageSettings()).pixels, 100)
    assert [line.text for line in lines] == [
        "HEADWORKS CAFE",
        "Receipt 2025-03",
        "Coffee beans 18.50",
        "Green tea 7.25",
        "Oat milk 3.90",
        "TOTAL 29.65",
    ]
    assert all(0.9 < line.confidence <= 1 for line in lines)
    assert [line.box.top for line in lines] == sorted(line.box.top for line in lines)


@pytest.mark.models
def test_boxes_lie_where_the_words_are(ocr: OcrModel) -> None:
    """A user interface draws them over the picture."""
    (line,) = ocr.read(np.asarray(draw(["Hello world"])), 100)
    assert line.box.left == pytest.approx(20, abs=8)
    assert line.box.top == pytest.approx(24, abs=10)
    assert line.box.bottom == pytest.approx(52, abs=10)


@pytest.mark.models
@pytest.mark.parametrize("size", [(1, 1), (3, 3000), (3000, 3), (40, 40), (31, 2000)])
def test_odd_shapes_have_no_lines_and_no_errors(ocr: OcrModel, size: tuple[int, int]) -> None:
    """V6: a thin picture must not be an internal error."""
    assert ocr.read(np.full((*size, 3), 255, np.uint8), 100) == ()


@pytest.mark.models
def test_lines_over_the_limit_are_left_out(ocr: OcrModel) -> None:
    """A page of print must not grow without bound."""
    picture = decode(RECEIPT, 1, ImageSettings())
    assert len(ocr.read(picture.pixels, 2)) == 2
