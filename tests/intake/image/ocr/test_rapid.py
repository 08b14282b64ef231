"""What detection gets, measured with rapidocr's own steps."""

import numpy as np
import pytest

from headworks.intake.image.ocr.rapid import Page, RapidSteps
from headworks.intake.image.ocr.tiles import cut_tiles

MOST_PIXELS = 4_600_000
"""Of detection's input: those of a square of 2,000, or of 8 to 1 with 736 pixels; sides are rounded to 32."""


@pytest.fixture(scope="module")
def steps() -> RapidSteps:
    from rapidocr import RapidOCR

    return RapidSteps(None, None, None, RapidOCR(params={"Global.log_level": "critical"}).cfg.Global)


def detection_input(page: Page) -> tuple[int, ...]:
    from rapidocr.ch_ppocr_det.utils import DetPreProcess

    made = DetPreProcess(736, "min").resize(page.pixels)
    assert made is not None
    return tuple(made.shape[:2])


@pytest.mark.parametrize(
    "size",
    [(w, h) for w in (6, 31, 64, 250, 2000) for h in (6, 31, 64, 250, 2000)]
    + [(6300, 6300), (4000, 1001), (1001, 4000), (8000, 1999), (8001, 2000), (1, 2), (40, 1)]
    + [(6, 9000), (9000, 6), (64, 9000), (9000, 64), (1200, 32_767), (32_767, 1200)],
)
def test_detection_input_is_bounded_for_every_shape(steps: RapidSteps, size: tuple[int, int]) -> None:
    """A picture of 64 by 2,000 pixels was enlarged to 736 by 23,000: 3 GB for nothing."""
    for tile in cut_tiles(np.zeros((size[1], size[0], 3), np.uint8)):
        height, width = detection_input(steps.lay_out(tile.pixels))
        assert height * width <= MOST_PIXELS
        assert min(height, width) >= 32


@pytest.mark.parametrize("size", [(400, 160), (31, 2000), (2000, 31), (3000, 2400), (20, 20)])
def test_places_on_the_page_are_places_on_the_tile(steps: RapidSteps, size: tuple[int, int]) -> None:
    """A mark in the middle is found where it was."""
    tile = np.zeros((size[1], size[0], 3), np.uint8)
    half = max(2, min(size) // 8)
    across, down = size[0] // 2, size[1] // 2
    tile[down - half : down + half, across - half : across + half] = 255
    page = steps.lay_out(tile)
    inner = page.pixels.copy()
    left, top = page.padded
    inner[: top + 1], inner[:, : left + 1] = 0, 0
    width, height = size[0] / page.scale[0], size[1] / page.scale[1]
    inner[int(top + height) :], inner[:, int(left + width) :] = 0, 0
    marked = np.argwhere(inner[:, :, 0] > 127)[:, ::-1].mean(axis=0).astype(np.float32)
    np.testing.assert_allclose(page.on_tile(marked), (across, down), atol=2 * max(1, *page.scale))


def test_page_has_blue_first(steps: RapidSteps) -> None:
    """As OpenCV's pictures have, with which PP-OCR was trained."""
    tile = np.full((100, 100, 3), (200, 0, 10), np.uint8)
    assert steps.lay_out(tile).pixels[50, 50].tolist() == [10, 0, 200]
