"""WebP files whose pixels are there, and others."""

import numpy as np
import pytest
from PIL import Image

from headworks.intake.errors import BadMedia
from headworks.intake.image.picture import Pixels, decode
from headworks.intake.image.settings import ImageSettings
from tests.intake.image.pictures import encode, shades

PICTURE = shades(70, 45)
KINDS = {
    "lossless": encode(PICTURE, "WEBP", lossless=True),
    "lossy": encode(PICTURE, "WEBP"),
    "alpha": encode(PICTURE.convert("RGBA"), "WEBP", icc_profile=b"x" * 41, exif=Image.Exif()),
    "metadata": encode(PICTURE, "WEBP", icc_profile=b"x" * 40, xmp=b"<x/>"),
    "moving": encode(PICTURE, "WEBP", save_all=True, append_images=[Image.new("RGB", (70, 45), "blue")]),
}


def pixels(data: bytes) -> Pixels:
    return decode(data, 1, ImageSettings()).pixels


def extended(data: bytes, *chunks: bytes) -> bytes:
    """Make a simple file an extended one that says that a profile, Exif and XMP follow, and let chunks follow."""
    sides = (69).to_bytes(3, "little") + (44).to_bytes(3, "little")
    return riff(chunk(b"VP8X", b"\x2c\0\0\0" + sides) + data[12:] + b"".join(chunks))


def riff(body: bytes) -> bytes:
    return b"RIFF" + (len(body) + 4).to_bytes(4, "little") + b"WEBP" + body


def chunk(kind: bytes, body: bytes) -> bytes:
    return kind + len(body).to_bytes(4, "little") + body + bytes(len(body) % 2)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_is_read(kind: str) -> None:
    """As it is read without a change."""
    found = pixels(KINDS[kind])
    assert found.shape == (45, 70, 3)
    assert np.abs(found.astype(int) - np.asarray(PICTURE)).mean() < 20


@pytest.mark.parametrize(
    "extra",
    [
        chunk(b"EXIF", b"II*\0\x08\0\0\0"),
        chunk(b"EXIF", b""),
        chunk(b"XMP ", b"<not xml"),
        chunk(b"ICCP", b"?"),
        chunk(b"quux", b"odd"),
        chunk(b"EXIF", bytes(90))[:50],
        b"tail",
        bytes(9),
        b"",
    ],
)
def test_damaged_or_missing_metadata_does_not_cost_the_picture(extra: bytes) -> None:
    """The same kind as python-pillow/Pillow#5528, in another format; metadata comes last, so that cuts meet it."""
    np.testing.assert_array_equal(pixels(extended(KINDS["lossless"], extra)), np.asarray(PICTURE))
    np.testing.assert_array_equal(pixels(KINDS["lossless"] + extra), np.asarray(PICTURE))


@pytest.mark.parametrize("length", [0, 0xFFFFFFFF, 0x7FFFFFFF, 20])
def test_length_of_the_file_may_be_a_placeholder(length: int) -> None:
    """Writers that cannot go back leave one; the chunks have lengths of their own."""
    data = KINDS["lossless"]
    odd = data[:4] + length.to_bytes(4, "little") + data[8:]
    np.testing.assert_array_equal(pixels(odd), np.asarray(PICTURE))


@pytest.mark.parametrize("kind", KINDS)
def test_cut_file_is_refused_or_gives_the_pixels_of_the_whole_one(kind: str) -> None:
    """Half a picture is not the picture."""
    data = KINDS[kind]
    whole = pixels(data)
    for end in range(12, len(data), 3):
        try:
            found = pixels(data[:end])
        except BadMedia:
            continue
        np.testing.assert_array_equal(found, whole, err_msg=f"{len(data) - end} bytes cut")
    with pytest.raises(BadMedia):
        pixels(data[: len(data) // 2])


def test_chunks_without_number_are_refused() -> None:
    """Empty ones make a file of 16 MiB that takes seconds to walk."""
    with pytest.raises(BadMedia):
        pixels(extended(KINDS["lossless"], chunk(b"quux", b"") * 200_000))
