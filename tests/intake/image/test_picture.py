"""Bytes to pixels."""

import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.image.formats.header import PictureFormat, read_header
from headworks.intake.image.picture import decode
from headworks.intake.image.settings import ImageSettings
from tests.intake.image.pictures import PNG, chunk, draw, encode, png_that_claims

WIDE = draw(["Hello"], (120, 60))
GOOD = {
    "png": encode(WIDE, "PNG"),
    "jpeg": encode(WIDE, "JPEG"),
    "progressive": encode(WIDE, "JPEG", progressive=True),
    "webp": encode(WIDE, "WEBP"),
    "lossless": encode(WIDE, "WEBP", lossless=True),
    "extended": encode(WIDE.convert("RGBA"), "WEBP", lossless=True, exact=True, icc_profile=b"x" * 40),
}


@pytest.mark.parametrize("name", GOOD)
def test_header_says_what_pillow_sees(name: str) -> None:
    """The size that the limit is held to is the size that gets decoded."""
    header = read_header(GOOD[name], 1)
    assert (header.width, header.height) == (120, 60)
    picture = decode(GOOD[name], 1, ImageSettings())
    assert picture.pixels.shape == (60, 120, 3)
    assert picture.format is header.format


@pytest.mark.parametrize(
    "data",
    [
        png_that_claims(40_000, 40_000),
        b"RIFF\xff\xff\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00" + b"\xff\x3f\x00" * 2 + bytes(40),
        b"\xff\xd8\xff\xe0\x00\x04\x00\x00\xff\xc0\x00\x11\x08\xff\xff\xff\xff\x03" + bytes(20),
    ],
)
def test_huge_raster_is_refused_from_its_header(data: bytes) -> None:
    """A small file that claims a huge raster costs nothing (vllm PR#47010)."""
    with pytest.raises(TooLarge, match=r"intake\.image\.max_pixels allows 40000000"):
        decode(data, 1, ImageSettings())


@pytest.mark.parametrize("size", [(150_000, 1), (1, 150_000), (5_000_000, 1)])
def test_longer_side_than_allowed_is_refused_from_its_header(size: tuple[int, int]) -> None:
    """A picture of few pixels can be so thin that what is made from it is not small: 225 bytes became 8 GB."""
    with pytest.raises(TooLarge, match=r"intake\.image\.max_side allows 32767"):
        decode(encode(Image.new("L", size), "PNG"), 1, ImageSettings())


@pytest.mark.parametrize(("kind", "name"), [("PNG", "png"), ("WEBP", "webp")])
def test_first_frame_of_a_moving_picture_is_read(kind: str, name: str) -> None:
    """A person sees it first, and one frame bounds the work."""
    frames = [Image.new("RGB", (20, 10), "red"), Image.new("RGB", (20, 10), "blue")]
    data = encode(frames[0], kind, save_all=True, append_images=frames[1:], lossless=True)
    picture = decode(data, 1, ImageSettings())
    assert picture.format is PictureFormat(name)
    assert tuple(picture.pixels[0, 0]) == (255, 0, 0)


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (Image.new("RGBA", (4, 4), (0, 0, 0, 0)), (255, 255, 255)),
        (Image.new("LA", (4, 4), (0, 128)), (127, 127, 127)),
        (Image.new("L", (4, 4), 7), (7, 7, 7)),
        (Image.new("1", (4, 4), 1), (255, 255, 255)),
        (Image.new("P", (4, 4), 0), (0, 0, 0)),
        (Image.fromarray(np.full((4, 4), 0x8000, np.uint16)), (128, 128, 128)),
    ],
)
def test_every_kind_of_pixel_becomes_rgb(image: Image.Image, expected: tuple[int, ...]) -> None:
    """What is transparent lies on white, and 16 bits are scaled, not clipped: else dark text vanishes."""
    picture = decode(encode(image, "PNG"), 1, ImageSettings())
    assert tuple(picture.pixels[0, 0]) == expected


BAD = {
    "empty": (b"", "no bytes came"),
    "short": (PNG, "8 bytes are too few"),
    "gif": (encode(WIDE, "GIF"), "not a PNG, JPEG or WebP"),
    "garbage": (bytes(range(256)), "not a PNG, JPEG or WebP"),
    "wav": (b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(40), "not a PNG, JPEG or WebP"),
    "png header cut": (GOOD["png"][:20], "PNG ends in its header"),
    "jpeg header cut": (GOOD["jpeg"][:40], "JPEG ends in its header"),
    "webp header cut": (GOOD["webp"][:20], "WEBP ends in its header"),
    "no size": (png_that_claims(0, 5), "0 x 5 pixels"),
    "png cut": (GOOD["png"][:-60], "PNG is cut short or damaged"),
    "jpeg cut": (GOOD["jpeg"][:-60], "JPEG is cut short or damaged"),
    "webp cut": (GOOD["webp"][:-60], "WEBP is cut short or damaged"),
    "too little data": (png_that_claims(500, 500), "PNG is cut short or damaged"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_picture_names_the_fault(case: str) -> None:
    """Whatever the bytes are, the sender gets a sentence (vllm PR#55451)."""
    data, sentence = BAD[case]
    with pytest.raises(BadMedia, match=f"image 2: .*{sentence}"):
        decode(data, 2, ImageSettings())


@settings(deadline=None)
@given(data=st.data())
def test_any_damage_is_a_listed_error_or_a_picture(data: st.DataObject) -> None:
    """No changed byte gives another error (vllm PR#55451)."""
    whole = bytearray(data.draw(st.sampled_from(list(GOOD.values()))))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, min(len(whole) - 1, 400)))] = data.draw(st.integers(0, 255))
    try:
        picture = decode(bytes(whole[: data.draw(st.integers(0, len(whole)))]), 1, ImageSettings(max_pixels=200_000))
    except (BadMedia, TooLarge):
        return
    assert picture.pixels.shape[0] * picture.pixels.shape[1] <= 200_000


CHILD = """
import resource, sys
from headworks.intake.image.picture import decode
from headworks.intake.image.settings import ImageSettings

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

data, before = open(sys.argv[1], "rb").read(), peak()
decode(data, 1, ImageSettings())
print(peak() - before)
"""


def test_large_transparent_picture_costs_a_few_bytes_per_pixel(tmp_path: Path) -> None:
    """Each step from file to RGB made a copy of all pixels. In bands, 8 bytes per pixel were seen."""
    side = 6300
    rows = zlib.compressobj(1)
    body = b"".join(rows.compress(bytes(1 + 4 * side)) for _ in range(side)) + rows.flush()
    header = struct.pack(">IIBBBBB", side, side, 8, 6, 0, 0, 0)
    path = tmp_path / "large.png"
    path.write_bytes(PNG + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b""))
    done = subprocess.run([sys.executable, "-c", CHILD, str(path)], check=True, capture_output=True, text=True)
    assert int(done.stdout) / side**2 < 14
