"""Long pictures, in tiles."""

import numpy as np
import pytest
from PIL import Image

from headworks.intake.image.ocr.seams import find_seams
from headworks.intake.image.ocr.tiles import LONGEST, cut_tiles, pad_slim
from headworks.intake.image.picture import Pixels
from headworks.intake.image.settings import ImageSettings

MOST = 200


def lines(length: int, pitch: int, rows: int = 40) -> Pixels:
    """Columns of noise with white between them, every `pitch` columns: print, lying on its side."""
    pixels = np.full((rows, length, 3), 255, np.uint8)
    random = np.random.default_rng(7)
    for start in range(0, length, pitch):
        width = min(pitch * 2 // 3, length - start)
        pixels[:, start : start + width] = random.integers(0, 255, (rows, width, 3))
    return pixels


def is_white(pixels: Pixels, place: int) -> bool:
    return bool((pixels[:, place] == 255).all())


@pytest.mark.parametrize("pitch", [9, 30, 39])
def test_seams_lie_in_the_white_between_lines(pitch: int) -> None:
    """A line that is cut through is read by neither side."""
    pixels = lines(2000, pitch)
    places = [seam.place for seam in find_seams(pixels, MOST)]
    assert all(is_white(pixels, place) for place in places)
    assert max(np.diff([0, *places, 2000])) <= MOST


def test_widest_gap_is_taken() -> None:
    """Between words and not between letters."""
    pixels = lines(400, 6)
    pixels[:, 205:215] = 255
    (seam,) = [one for one in find_seams(pixels, MOST + 100) if 200 < one.place < 220]
    assert seam.place == pytest.approx(210, abs=3)
    assert seam.blank >= 10


def test_rule_along_the_picture_hides_no_gap() -> None:
    """The frame of a column, or the edge of a sheet on a table."""
    pixels = lines(2000, 30)
    pixels[3:5] = 0
    places = [seam.place for seam in find_seams(pixels, MOST)]
    assert all((pixels[6:, place] == 255).all() for place in places)


@pytest.mark.parametrize("length", [0, 1, MOST])
def test_short_picture_has_no_seams(length: int) -> None:
    assert find_seams(np.zeros((5, length, 3), np.uint8), MOST) == []


def test_picture_without_print_is_cut_all_the_same() -> None:
    """Nothing to avoid."""
    places = [seam.place for seam in find_seams(np.full((1, 5000, 3), 9, np.uint8), MOST)]
    assert max(np.diff([0, *places, 5000])) <= MOST


@pytest.mark.parametrize("size", [(1, 1), (400, 160), (4000, 3000), (2000, 20), (20, 2000), (6000, 1600)])
def test_ordinary_picture_is_one_tile(size: tuple[int, int]) -> None:
    """Pages, screens and photographs are read as they were."""
    pixels = np.zeros((size[1], size[0], 3), np.uint8)
    (tile,) = cut_tiles(pixels)
    assert tile.pixels is pixels
    assert (tile.left, tile.top) == (0, 0)


@pytest.mark.parametrize(
    "size", [(1080, 20_000), (20_000, 40), (32_767, 1), (7, 32_767), (2000, 20_000), (20_000, 2000)]
)
def test_tiles_make_up_the_whole_of_a_long_picture(size: tuple[int, int]) -> None:
    """Shrunk to 2,000 pixels, a screenshot of 20,000 has letters of three pixels."""
    width, height = size
    pixels = np.random.default_rng(7).integers(0, 255, (height, width, 1), dtype=np.uint8).repeat(3, axis=2)
    tiles = list(cut_tiles(pixels))
    assert 1 < len(tiles) <= 21
    assert max(max(tile.pixels.shape[:2]) for tile in tiles) <= max(LONGEST, 2 * min(size))
    again = np.concatenate([tile.pixels for tile in tiles], axis=0 if height > width else 1)
    np.testing.assert_array_equal(again, pixels)
    for tile in tiles:
        assert pixels[tile.top, tile.left].tolist() == tile.pixels[0, 0].tolist()


def test_settings_bound_the_number_of_tiles() -> None:
    """Each costs a run of detection."""
    side = ImageSettings().max_side
    assert len(list(cut_tiles(np.zeros((side, 1, 3), np.uint8)))) <= 21


@pytest.mark.parametrize("size", [(1, 2000), (2000, 1), (6, 1600), (1, 1), (300, 2000)])
def test_slim_tile_is_padded_with_white(size: tuple[int, int]) -> None:
    """And not by more than it needs."""
    padded = pad_slim(np.zeros((size[1], size[0], 3), np.uint8))
    height, width = padded.shape[:2]
    assert width <= 32 * height
    assert height <= 8 * width
    assert height * width <= max(size[0] * size[1], 2000 * 250)
    assert padded[size[1] :].min(initial=255) == 255
    assert padded[:, size[0] :].min(initial=255) == 255
    assert Image.fromarray(padded).crop((0, 0, *size)).getextrema() == ((0, 0),) * 3
