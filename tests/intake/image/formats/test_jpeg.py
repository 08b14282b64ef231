"""JPEG files whose pixels are there, and others."""

import numpy as np
import pytest

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.image.formats.jpeg import read_size
from headworks.intake.image.picture import Pixels, decode
from headworks.intake.image.settings import ImageSettings
from tests.intake.image.pictures import encode, shades

SOI, EOI, SCAN = b"\xff\xd8", b"\xff\xd9", b"\xff\xda"
PICTURE = shades(70, 45)
KINDS: dict[str, dict[str, object]] = {
    "baseline": {},
    "progressive": {"progressive": True},
    "restarts": {"restart_marker_blocks": 2},
    "progressive restarts": {"progressive": True, "restart_marker_rows": 1},
    "grey": {},
}


def jpeg(kind: str = "baseline") -> bytes:
    image = PICTURE.convert("L") if kind == "grey" else PICTURE
    return encode(image, "JPEG", quality=90, **KINDS[kind])


def segment(marker: int, body: bytes) -> bytes:
    return bytes((0xFF, marker)) + (len(body) + 2).to_bytes(2, "big") + body


def pixels(data: bytes) -> Pixels:
    return decode(data, 1, ImageSettings()).pixels


def with_segment(data: bytes, marker: int, body: bytes) -> bytes:
    return SOI + segment(marker, body) + data[2:]


def boundaries(data: bytes) -> list[int]:
    """Where segments begin, up to the first scan."""
    places, place = [], 2
    while data[place : place + 2] != SCAN:
        places.append(place)
        place += 2 + int.from_bytes(data[place + 2 : place + 4], "big")
    return [*places, place]


@pytest.mark.parametrize("stray", [b"\n" * 7, b"\0", b"\xff" * 5, b"\xff\x00\xff\x00", b"\xff\x01"])
def test_bytes_between_segments_are_stepped_over(stray: bytes) -> None:
    """Cameras and editors leave them, and libjpeg steps over them (image-size/image-size#392)."""
    data = jpeg()
    for place in boundaries(data)[1:]:
        odd = data[:place] + stray + data[place:]
        assert read_size(odd) == (70, 45)
        np.testing.assert_array_equal(pixels(odd), pixels(data))


@pytest.mark.parametrize("kind", KINDS)
def test_file_without_its_end_marker_is_read_when_every_block_is_there(kind: str) -> None:
    """Two bytes that say nothing about the pixels are no reason to refuse them."""
    data = jpeg(kind)
    assert data.endswith(EOI)
    for end in (b"", b"\xff", bytes(20)):
        np.testing.assert_array_equal(pixels(data[:-2] + end), pixels(data))


@pytest.mark.parametrize("kind", KINDS)
def test_cut_file_is_refused_or_gives_the_pixels_of_the_whole_one(kind: str) -> None:
    """Grey in place of missing blocks would be wrong data without a word, wherever the cut is."""
    data = jpeg(kind)
    whole = pixels(data)
    refused = 0
    for end in range(2, len(data)):
        try:
            found = pixels(data[:end])
        except BadMedia:
            refused += 1
        else:
            np.testing.assert_array_equal(found, whole, err_msg=f"{len(data) - end} bytes cut")
    assert refused > len(data) - 8


def test_progressive_file_that_lacks_whole_scans_is_refused() -> None:
    """Cut between two scans, no block is torn: the picture is only coarser than the one that was sent."""
    data = jpeg("progressive")
    scans = [place for place in range(len(data)) if data.startswith(SCAN, place)]
    for place in scans:
        with pytest.raises(BadMedia, match="cut short"):
            pixels(data[:place])


@pytest.mark.parametrize(
    ("marker", "body"),
    [
        (0xE1, b"Exif\0\0II*\0\x08\0\0\0\xff\xff"),
        (0xE1, b"Exif\0\0"),
        (0xE1, b"http://ns.adobe.com/xap/1.0/\0<not xml"),
        (0xE0, b"JFIF\0"),
        (0xE0, b"JFXX\0\x10"),
        (0xE2, b"ICC_PROFILE\0\x03"),
        (0xE2, b"MPF\0II*\0\xff\xff\xff\xff"),
        (0xED, b"Photoshop 3.0\x008BIM\x03\xed\0\0\0\0\0\x02\0\0"),
        (0xEE, b"Adobe\0"),
        (0xFE, b"a comment"),
        (0xF0, b""),
    ],
)
def test_damaged_metadata_does_not_cost_the_picture(marker: int, body: bytes) -> None:
    """The same kind as python-pillow/Pillow#5528: a library that reads metadata first refuses good pixels."""
    np.testing.assert_array_equal(pixels(with_segment(jpeg(), marker, body)), pixels(jpeg()))


def test_segments_that_tell_colours_are_kept() -> None:
    """Without Adobe's, CMYK would be read as its negative."""
    image = PICTURE.convert("CMYK")
    data = encode(image, "JPEG", quality=100, subsampling=0)
    assert b"Adobe" in data
    found = pixels(data).astype(int) - np.asarray(image.convert("RGB"), dtype=int)
    assert np.abs(found).mean() < 3


def test_picture_ends_at_its_end_marker() -> None:
    """A second picture after it, as phones append, is not this one."""
    np.testing.assert_array_equal(pixels(jpeg() + jpeg("grey")), pixels(jpeg()))


def test_more_scans_than_anybody_writes_are_refused_before_they_are_decoded() -> None:
    """Each scan costs a pass over all pixels: a small file of many could keep a thread for an hour (libjpeg-turbo's
    jdapimin.c warns of it)."""
    data = jpeg("progressive")
    last = data[data.rindex(SCAN) : -2]
    assert decode(data[:-2] + last * 20 + EOI, 1, ImageSettings()).pixels.shape == (45, 70, 3)
    with pytest.raises(TooLarge, match=r"intake\.image\.max_scans allows 100"):
        pixels(data[:-2] + last * 1000 + EOI)


def test_segments_without_number_are_refused() -> None:
    """Empty ones make a file of 16 MiB that takes seconds to walk."""
    with pytest.raises(BadMedia):
        pixels(SOI + segment(0xE5, b"") * 200_000 + jpeg()[2:])


def test_two_sizes_are_refused() -> None:
    """The limit was held to the first one."""
    data = jpeg()
    frame = data.index(b"\xff\xc0")
    other = data[frame : frame + 19].replace((70).to_bytes(2, "big"), (700).to_bytes(2, "big"))
    for odd in (data[:frame] + other + data[frame:], data[: frame + 19] + other + data[frame + 19 :]):
        with pytest.raises(BadMedia):
            pixels(odd)
