"""PNG files whose pixels are there, and others."""

import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from headworks.intake.errors import BadMedia
from headworks.intake.image.picture import Pixels, decode
from headworks.intake.image.settings import ImageSettings
from tests.intake.image.pictures import PNG, chunk, encode, shades

PICTURE = shades(70, 45)
WHOLE = encode(PICTURE, "PNG")
HEADER_END = 33
"""The signature and IHDR."""
ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


def pixels(data: bytes) -> Pixels:
    return decode(data, 1, ImageSettings()).pixels


def chunks(data: bytes) -> list[bytes]:
    found, place = [], len(PNG)
    while place < len(data):
        end = place + 12 + int.from_bytes(data[place : place + 4], "big")
        found.append(data[place:end])
        place = end
    return found


def with_chunk(extra: bytes, data: bytes = WHOLE) -> bytes:
    return data[:HEADER_END] + extra + data[HEADER_END:]


def spoilt(one: bytes) -> bytes:
    """Return a chunk with a wrong checksum."""
    return one[:-1] + bytes((one[-1] ^ 1,))


METADATA = {
    "profile of 1.2 MB": chunk(b"iCCP", b"a\0\0" + zlib.compress(bytes(1_200_000))),
    "profile that is no zlib stream": chunk(b"iCCP", b"a\0\0" + b"not zlib"),
    "profile without a name": chunk(b"iCCP", b""),
    "short Exif": chunk(b"eXIf", b"II*\0\x08\0\0\0"),
    "Exif that is none": chunk(b"eXIf", b"?" * 9),
    "text bomb": chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(200_000_000))),
    "international text bomb": chunk(b"iTXt", b"a\0\1\0\0\0" + zlib.compress(bytes(200_000_000))),
    "long text": chunk(b"tEXt", b"a\0" + b"x" * 2_000_000),
    "text of no known letters": chunk(b"iTXt", b"a\0\0\0\0\0\xff\xfe"),
    "Exif as text": chunk(b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(b"\nexif\n9\nzz")),
    "short gamma": chunk(b"gAMA", b"\0"),
    "short resolution": chunk(b"pHYs", b"\0"),
    "short transparency": chunk(b"tRNS", b"\0"),
    "wrong checksum": spoilt(chunk(b"tEXt", b"a\0b")),
    "wrong checksum of a profile": spoilt(chunk(b"iCCP", b"a\0\0" + zlib.compress(b"x"))),
    "wrong checksum of a transparency": spoilt(chunk(b"tRNS", bytes(6))),
    "animation of no frames": chunk(b"acTL", bytes(8)),
    "short animation": chunk(b"acTL", b"\0"),
    "unknown": chunk(b"quUx", b"anything"),
}


@pytest.mark.parametrize("case", METADATA)
def test_damaged_metadata_does_not_cost_the_picture(case: str) -> None:
    """It says nothing about the pixels; Pillow reads it first and fails (python-pillow/Pillow#8363, #2445, #5528)."""
    np.testing.assert_array_equal(pixels(with_chunk(METADATA[case])), np.asarray(PICTURE))


@pytest.mark.parametrize("case", ["profile of 1.2 MB", "short Exif", "wrong checksum", "unknown"])
def test_metadata_after_the_pixels_does_not_cost_the_picture(case: str) -> None:
    """Writers put text and Exif there too."""
    *others, last = chunks(WHOLE)
    np.testing.assert_array_equal(pixels(PNG + b"".join([*others, METADATA[case], last])), np.asarray(PICTURE))


def test_metadata_between_the_pixels_does_not_cost_the_picture() -> None:
    """Against the standard, and easy to step over."""
    header, rows, end = chunks(WHOLE)
    body = rows[8:-4]
    halves = chunk(b"IDAT", body[:100]), chunk(b"tEXt", b"a\0b"), chunk(b"IDAT", b""), chunk(b"IDAT", body[100:])
    np.testing.assert_array_equal(pixels(PNG + header + b"".join(halves) + end), np.asarray(PICTURE))


@pytest.mark.parametrize("number", [0, 1])
def test_wrong_checksum_of_a_critical_chunk_is_refused(number: int) -> None:
    """Pillow does not check that of the pixels, so flipped bits would be read as drawn."""
    found = chunks(WHOLE)
    found[number] = spoilt(found[number])
    with pytest.raises(BadMedia, match="damaged"):
        pixels(PNG + b"".join(found))


def test_palette_must_be_whole() -> None:
    """Colours are made of it."""
    data = encode(PICTURE.convert("P", palette=Image.Palette.ADAPTIVE), "PNG")
    header, palette, *others = chunks(data)
    assert palette[4:8] == b"PLTE"
    assert pixels(data).shape == (45, 70, 3)
    with pytest.raises(BadMedia):
        pixels(PNG + header + spoilt(palette) + b"".join(others))


def test_file_without_its_end_chunk_is_read_when_every_row_is_there() -> None:
    """As a JPEG without its end marker is: twelve bytes that say nothing about the pixels."""
    header, rows, _ = chunks(WHOLE)
    for end in (b"", b"\0\0", b"not a chunk at all"):
        np.testing.assert_array_equal(pixels(PNG + header + rows + end), np.asarray(PICTURE))


def test_cut_file_is_refused_or_gives_the_pixels_of_the_whole_one() -> None:
    """Rows that did not come must not be black."""
    refused = 0
    for end in range(len(PNG), len(WHOLE)):
        try:
            found = pixels(WHOLE[:end])
        except BadMedia:
            refused += 1
        else:
            np.testing.assert_array_equal(found, np.asarray(PICTURE), err_msg=f"{len(WHOLE) - end} bytes cut")
    assert refused > len(WHOLE) - 40


@pytest.mark.parametrize(
    ("mode", "transparency"),
    [("RGB", (0, 0, 0)), ("L", 0), ("1", 0), ("P", 0), ("P", bytes((0, 255))), ("I;16", 0)],
)
def test_transparency_of_every_kind_of_pixel_is_seen(mode: str, transparency: object) -> None:
    """It is not metadata: a black ground that nobody should see would hide black print."""
    if mode == "I;16":
        image = Image.fromarray(np.array([[0, 0x7F00]], np.uint16))
    else:
        image = Image.new("L", (2, 1))
        image.putpixel((1, 0), 255 if mode == "1" else 127)
        image = image.convert(mode)
    found = pixels(encode(image, "PNG", transparency=transparency))
    assert tuple(found[0, 0]) == (255, 255, 255) if mode != "1" else tuple(found[0, 0]) == (0, 0, 0)
    assert tuple(found[0, 1]) == ((255,) * 3 if mode == "1" else (127,) * 3)


@pytest.mark.parametrize("height", [46, 47, 4500])
def test_rows_that_never_came_are_missed(height: int) -> None:
    """The stream has a proper end, one row too early: Pillow gives black rows without a word."""
    header = struct.pack(">IIBBBBB", 70, height, 8, 2, 0, 0, 0)
    with pytest.raises(BadMedia, match="cut short"):
        pixels(PNG + chunk(b"IHDR", header) + b"".join(chunks(WHOLE)[1:]))


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
@pytest.mark.parametrize("size", [(1, 1), (3, 2), (9, 5), (70, 45)])
def test_rows_are_counted_rightly(mode: str, size: tuple[int, int]) -> None:
    """A wrong count would refuse whole pictures, or take cut ones; Pillow reads interlaced ones and writes none."""
    image = Image.fromarray(np.full(size[::-1], 700, np.uint16)) if mode == "I;16" else Image.new(mode, size)
    assert pixels(encode(image, "PNG")).shape == (size[1], size[0], 3)


@pytest.mark.parametrize("size", [(1, 1), (2, 2), (5, 5), (8, 8), (70, 45)])
def test_interlaced_rows_are_counted_rightly(size: tuple[int, int]) -> None:
    """Seven passes, each with rows of its own."""
    grey = np.asarray(PICTURE.convert("L"))[: size[1], : size[0]]
    raw = b""
    for left, top, across, down in ADAM7:
        part = grey[top::down, left::across]
        raw += b"".join(b"\0" + row.tobytes() for row in part if row.size)
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", *size, 8, 0, 0, 0, 1))
    data = PNG + header + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")
    np.testing.assert_array_equal(pixels(data)[:, :, 0], grey)
    with pytest.raises(BadMedia):
        pixels(PNG + header + chunk(b"IDAT", zlib.compress(raw[:-1])) + chunk(b"IEND", b""))


def test_chunks_without_number_are_refused() -> None:
    """Empty ones make a file of 16 MiB that takes seconds to walk."""
    with pytest.raises(BadMedia):
        pixels(with_chunk(chunk(b"quUx", b"") * 200_000))
