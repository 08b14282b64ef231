"""Documents drawn by script."""

import random
from pathlib import Path

import numpy as np
import pytest

from headworks.intake.build.image_model.colours import main_colour
from headworks.intake.build.image_model.kinds import KINDS
from tests.intake.build.image_model.drawn import font


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_and_named(kind: str, tmp_path: Path) -> None:
    """Twenty of each: none empty, none alike, all called by their kind first."""
    fonts = [font(tmp_path)]
    seen = set()
    for number in range(20):
        picture, captions = KINDS[kind](random.Random(number), fonts)
        assert captions[0] == kind
        assert min(picture.size) >= 40
        assert np.asarray(picture).std() > 0
        seen.add(picture.tobytes())
    assert len(seen) == 20


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_dice_draw_the_same_picture(kind: str, tmp_path: Path) -> None:
    fonts = [font(tmp_path)]
    one, other = (KINDS[kind](random.Random(5), fonts)[0] for _ in range(2))
    assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize(
    ("colour", "name"),
    [((220, 40, 40), "red"), ((50, 110, 215), "blue"), ((130, 130, 130), None), ((250, 250, 250), None)],
)
def test_a_colour_is_said_only_where_it_is_clear(colour: tuple[int, int, int], name: str | None) -> None:
    """Grey and white may be paper or ink, so they are not said."""
    drawing = np.zeros((48, 48, 4), np.uint8)
    drawing[10:40, 10:40] = (*colour, 255)
    assert main_colour(drawing) == name


def test_a_drawing_of_two_colours_has_none() -> None:
    drawing = np.zeros((48, 48, 4), np.uint8)
    drawing[:24], drawing[24:] = (220, 40, 40, 255), (50, 110, 215, 255)
    assert main_colour(drawing) is None
