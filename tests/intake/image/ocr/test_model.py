"""Printed lines."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from headworks.intake.errors import ModelMissing
from headworks.intake.finding import TextLine
from headworks.intake.image.ocr.model import OcrModel
from headworks.intake.image.picture import Pixels, decode
from headworks.intake.image.settings import ImageSettings
from headworks.intake.models.store import ModelStore
from headworks.intake.onnx.provider import ProviderChoice
from headworks.intake.onnx.settings import CPU, OnnxSettings
from headworks.intake.span import ImageOrigin
from tests.intake.image.ocr.steps import NotingSteps
from tests.intake.image.pictures import RECEIPT, draw


@pytest.fixture(scope="module")
def ocr(store: ModelStore) -> OcrModel:
    return OcrModel.load(store, OnnxSettings())


CHOICE = ProviderChoice(CPU, "")


def read(pixels: Pixels, steps: NotingSteps, max_lines: int = 100) -> tuple[TextLine, ...]:
    return OcrModel(steps, CHOICE).read(pixels, max_lines)


def test_boxes_of_all_tiles_are_in_the_picture_s_pixels() -> None:
    """A long picture is read in tiles, and nobody is to see that."""
    pixels = np.full((100, 5000, 3), 7, np.uint8)
    steps = NotingSteps({7: [(10, 20, 60, 40)]})
    (line,) = read(pixels, steps)
    assert line.text == "7 7 7 7"
    assert line.box == ImageOrigin(10, 20, 5000 - 1250 + 60, 40)
    assert steps.tiles == [(100, 1250)] * 4


def test_tall_picture_is_read_until_there_are_lines_enough() -> None:
    """The rest would be left out."""
    steps = NotingSteps({7: [(10, top, 60, top + 20) for top in range(10, 1000, 50)]})
    pixels = np.full((12_000, 300, 3), 7, np.uint8)
    assert len(read(pixels, steps, max_lines=30)) == 30
    assert len(steps.tiles) == 2


def test_crops_are_made_a_few_at_a_time() -> None:
    """A thousand boxes over one another would be gigabytes at once."""
    steps = NotingSteps({7: [(0, number, 900, number + 900) for number in range(100)]})
    read(np.full((1000, 1000, 3), 7, np.uint8), steps)
    assert steps.crops == 100
    assert steps.most_crops == 6


def test_wide_crop_does_not_pad_the_others() -> None:
    """Recognition gets strips of one run in one width."""
    wide, narrow = (0, 0, 2000, 10), [(0, top, 40, top + 20) for top in range(100, 400, 40)]
    steps = NotingSteps({7: [wide, *narrow]})
    lines = read(np.full((500, 2000, 3), 7, np.uint8), steps)
    for run in steps.runs:
        assert len(run) * max(48 * width / height for height, width in run) <= 5760
    assert sum(len(run) for run in steps.runs) > 9
    assert len(lines) == 9


def test_doubtful_and_empty_print_is_left_out() -> None:
    """As rapidocr does it."""
    assert read(np.full((50, 50, 3), 7, np.uint8), NotingSteps({7: [(0, 0, 40, 20)]}, confidence=0.49)) == ()
    assert read(np.full((50, 50, 3), 9, np.uint8), NotingSteps({7: [(0, 0, 40, 20)]})) == ()


@pytest.mark.parametrize("size", [(1, 1), (5, 32_767), (32_767, 5), (150_000, 1)])
def test_picture_too_thin_for_print_is_not_looked_at(size: tuple[int, int]) -> None:
    """It cost 8 GB before."""
    steps = NotingSteps({})
    assert read(np.zeros((*size, 3), np.uint8), steps) == ()
    assert steps.tiles == []


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
def test_receipt_that_was_photographed_askew_keeps_its_prices(ocr: OcrModel) -> None:
    """At the far end a price was a whole line lower than its item, and went to the next one."""
    flat = decode(RECEIPT, 1, ImageSettings()).pixels
    askew = Image.fromarray(flat).rotate(-6, expand=True, fillcolor="grey", resample=Image.Resampling.BICUBIC)
    assert [line.text for line in ocr.read(np.asarray(askew), 100)] == [line.text for line in ocr.read(flat, 100)]


@pytest.mark.models
def test_columns_are_read_one_after_the_other(ocr: OcrModel) -> None:
    """Read across, two articles become nonsense."""
    left = ["Ferns grow where light is weak", "and the soil stays damp. Their", "leaves unroll slowly in spring."]
    right = ["Bread was cheaper in the lower", "town, and every Friday the old", "bakers carried it up the hill."]
    page = Image.new("RGB", (700, 160), "white")
    for number, texts in enumerate(zip(left, right, strict=True)):
        for side, text in enumerate(texts):
            place = (20 + 350 * side, 20 + 40 * number)
            ImageDraw.Draw(page).text(place, text, fill="black", font=ImageFont.load_default(18))
    assert [line.text for line in ocr.read(np.asarray(page), 100)] == left + right


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
    """A thin picture must not be an internal error (vllm#51467)."""
    assert ocr.read(np.full((*size, 3), 255, np.uint8), 100) == ()


@pytest.mark.models
def test_lines_over_the_limit_are_left_out(ocr: OcrModel) -> None:
    """A page of print must not grow without bound."""
    picture = decode(RECEIPT, 1, ImageSettings())
    assert len(ocr.read(picture.pixels, 2)) == 2


LONG = "The orders of March were shipped from both houses before the roads were closed by snow and "


@pytest.mark.models
@pytest.mark.parametrize("is_turned", [False, True])
def test_long_line_is_read_whichever_way_up_it_is(ocr: OcrModel, is_turned: bool) -> None:
    """Squeezed to an eighth of its width, it is told from its reverse by chance."""
    page = Image.new("RGB", (1900, 60), "white")
    ImageDraw.Draw(page).text((10, 15), LONG * 2, fill="black", font=ImageFont.load_default(20))
    pixels = np.asarray(page)
    (line,) = ocr.read(pixels[::-1, ::-1] if is_turned else pixels, 100)
    assert line.text == (LONG * 2).strip()
