"""What transparent pictures are laid on."""

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from headworks.intake.image.ground import BLACK, GREY, WHITE, choose_ground, lay
from headworks.intake.image.picture import decode
from headworks.intake.image.settings import ImageSettings
from tests.intake.image.pictures import encode

CLEAR = (0, 0, 0, 0)


def word(*colours: str) -> Image.Image:
    """One word per colour on clear."""
    image = Image.new("RGBA", (200, 60 * len(colours)), CLEAR)
    pen = ImageDraw.Draw(image)
    for number, colour in enumerate(colours):
        pen.text((10, 10 + 60 * number), "TOTAL", fill=colour, font=ImageFont.load_default(36))
    return image


def ground_of(image: Image.Image) -> int:
    return choose_ground([np.asarray(image)])


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
@pytest.mark.parametrize(("colour", "ground"), [("white", BLACK), ("black", WHITE)])
def test_word_on_clear_is_seen(kind: str, colour: str, ground: int) -> None:
    """White on white is nothing (RapidAI/RapidOCR#158)."""
    picture = decode(encode(word(colour), kind, lossless=True), 1, ImageSettings())
    assert tuple(picture.pixels[0, 0]) == (ground,) * 3
    assert picture.pixels.min() == 0
    assert picture.pixels.max() == 255


@pytest.mark.parametrize(
    ("colours", "ground"),
    [
        (["#eeeeee"], BLACK),
        (["#888888"], WHITE),
        (["#ffdd00"], WHITE),
        (["#111166"], WHITE),
        (["white", "white", "black"], GREY),
        (["white", "black", "black"], GREY),
        (["white", "#3366cc"], BLACK),
        (["white", "#222222", "#888888"], WHITE),
    ],
)
def test_ground_hides_the_least(colours: list[str], ground: int) -> None:
    """White is paper, unless something is lost on it that would be seen on another ground."""
    assert ground_of(word(*colours)) == ground


def test_what_lies_within_does_not_count() -> None:
    """A white sheet with a black border is seen on white: drawings are made for it."""
    image = Image.new("RGBA", (100, 100), CLEAR)
    ImageDraw.Draw(image).rectangle((10, 10, 90, 90), fill="white", outline="black", width=3)
    assert ground_of(image) == WHITE


def test_rim_of_a_letter_does_not_count() -> None:
    """Editors leave any colour in pixels that nearly nobody sees."""
    pixels = np.array(word("white"))
    pixels[pixels[:, :, 3] < 128, :3] = 0
    assert ground_of(Image.fromarray(pixels)) == BLACK


def test_faint_print_is_seen_too() -> None:
    """A watermark has no pixel that is half opaque."""
    pixels = np.array(word("white"))
    pixels[:, :, 3] //= 5
    assert ground_of(Image.fromarray(pixels)) == BLACK


@pytest.mark.parametrize("image", [Image.new("RGBA", (5, 5), CLEAR), Image.new("RGBA", (5, 5), "white")])
def test_picture_without_edges_lies_on_white(image: Image.Image) -> None:
    """Nothing touches the ground."""
    assert ground_of(image) == WHITE


@pytest.mark.parametrize("ground", [WHITE, BLACK, GREY])
def test_blending_equals_pillows(ground: int) -> None:
    """To one level: it rounds in other places."""
    values = np.random.default_rng(7).integers(0, 256, (40, 30, 4), dtype=np.uint8)
    paper = Image.new("RGBA", (30, 40), (ground,) * 3)
    expected: NDArray[np.uint8] = np.asarray(Image.alpha_composite(paper, Image.fromarray(values)).convert("RGB"))
    assert np.abs(lay(values, ground).astype(int) - expected).max() <= 1
