"""How the camera was held."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageOps

from headworks.intake.image.formats.exif import read_orientation
from headworks.intake.image.picture import decode
from headworks.intake.image.settings import ImageSettings
from tests.intake.image.pictures import encode, shades


def exif(orientation: int) -> Image.Exif:
    block = Image.Exif()
    block[0x010F] = "A maker's name"
    block[0x0112] = orientation
    return block


def block(orientation: int) -> bytes:
    return exif(orientation).tobytes().removeprefix(b"Exif\0\0")


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_turn_is_undone_as_pillow_undoes_it(kind: str, orientation: int) -> None:
    """OCR and boxes are in the picture as a person sees it."""
    options = {} if kind == "JPEG" else {"lossless": True}
    data = encode(shades(70, 45), kind, exif=exif(orientation), **options)
    picture = decode(data, 1, ImageSettings())
    with Image.open(io.BytesIO(data)) as image:
        expected = np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    np.testing.assert_array_equal(picture.pixels, expected)
    assert (picture.width, picture.height) == ((70, 45) if orientation < 5 else (45, 70))


@pytest.mark.parametrize("order", ["<", ">"])
def test_both_byte_orders_are_read(order: str) -> None:
    """Cameras write either."""
    made = Image.Exif()
    made.endian = order
    made[0x0112] = 6
    assert read_orientation(made.tobytes().removeprefix(b"Exif\0\0")) == 6


@pytest.mark.parametrize(
    "odd",
    [
        b"",
        b"II*\0",
        b"II*\0\xff\xff\xff\xff",
        b"II*\0\x08\0\0\0\xff\xff",
        b"MM*\0" + bytes(20),
        b"II*\0\x08\0\0\0\x01\0\x12\x01\x02\0\x01\0\0\0\x06\0\0\0",
        block(1).replace(b"\x12\x01\x03\0\x01\0\0\0\x01", b"\x12\x01\x03\0\x01\0\0\0\x63"),
    ],
)
def test_block_that_does_not_tell_is_upright(odd: bytes) -> None:
    """A wrong turn would be worse than none."""
    assert read_orientation(odd) == 1


@given(st.binary(max_size=80), st.integers(0, 60))
def test_no_block_raises(noise: bytes, place: int) -> None:
    """Whatever its bytes are."""
    whole = block(6)
    assert 1 <= read_orientation(whole[:place] + noise) <= 8
    assert 1 <= read_orientation(noise) <= 8
