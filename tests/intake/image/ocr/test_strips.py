"""Crops of print, in runs of recognition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from headworks.intake.image.ocr.strips import Reading, Strip, cut_strips, join_readings, runs
from headworks.intake.image.picture import Pixels

RUN_COLUMNS = 5760


def crop(width: int, height: int = 48) -> Pixels:
    return np.zeros((height, width, 3), np.uint8)


def sentence(text: str, height: int = 48) -> Pixels:
    """A crop as PP-OCR makes it: print in half of its height."""
    font = ImageFont.load_default(height // 2)
    image = Image.new("RGB", (int(font.getlength(text)) + 10, height), "white")
    ImageDraw.Draw(image).text((5, height // 5), text, fill="black", font=font)
    return np.asarray(image)


def test_line_of_print_is_one_strip() -> None:
    """As it comes."""
    pixels = crop(1920)
    (strip,) = cut_strips(3, pixels)
    assert strip.pixels.shape == pixels.shape
    assert (strip.box, strip.has_space, strip.columns) == (3, False, 1920)


@pytest.mark.parametrize("height", [16, 30, 48, 90])
def test_very_long_line_is_cut_between_words(height: int) -> None:
    """One of 2,000 by 5 pixels would be 19,200 columns, and pad all others of its run to as many."""
    strips = cut_strips(0, sentence("Every good boy does fine and gets a cake. " * 20, height))
    assert len(strips) > 4
    assert all(strip.columns <= 1920 for strip in strips)
    assert [strip.has_space for strip in strips] == [False] + [True] * (len(strips) - 1)


def test_very_long_word_is_cut_without_a_space() -> None:
    """A number of 500 digits stays one word."""
    strips = cut_strips(0, sentence("4711" * 125))
    assert not any(strip.has_space for strip in strips)


@given(st.lists(st.integers(1, 1920), max_size=40))
def test_runs_stay_small(widths: list[int]) -> None:
    """With what pads the narrow ones to the widest, nothing lost and nothing moved."""
    strips = [Strip(number, crop(width), has_space=False) for number, width in enumerate(widths)]
    found = list(runs(strips))
    assert [strip.box for run in found for strip in run] == list(range(len(widths)))
    for run in found:
        assert 1 <= len(run) <= 6
        assert len(run) * max(strip.columns for strip in run) <= RUN_COLUMNS


def test_narrow_strips_fill_runs() -> None:
    """As rapidocr gathers them, six at a time."""
    assert [len(run) for run in runs(Strip(0, crop(100), has_space=False) for _ in range(13))] == [6, 6, 1]


def test_parts_of_a_line_are_joined_as_they_were_parted() -> None:
    """A long part says more about the line's confidence than a short one."""
    parts = [
        (Strip(0, crop(9), has_space=False), Reading("Every good boy", 0.9)),
        (Strip(0, crop(9), has_space=True), Reading("does", 0.5)),
        (Strip(0, crop(9), has_space=True), Reading("", 0.0)),
        (Strip(0, crop(9), has_space=False), Reading("n't", 0.9)),
    ]
    whole = join_readings(parts)
    assert whole.text == "Every good boy doesn't"
    assert whole.confidence == pytest.approx((0.9 * 17 + 0.5 * 4) / 21)
    assert join_readings(parts[2:3]) == Reading("", 0.0)
