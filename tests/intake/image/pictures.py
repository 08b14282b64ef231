"""Draws and encodes pictures for tests."""

import io
import struct
import zlib
from importlib import resources

import numpy as np
from PIL import Image, ImageDraw, ImageFont

RECEIPT = (resources.files("headworks.server.cli.demo") / "receipt.png").read_bytes()
"""The demo's picture, of six lines."""
PNG = b"\x89PNG\r\n\x1a\n"


def draw(lines: list[str], size: tuple[int, int] = (400, 160)) -> Image.Image:
    image = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        pen.text((20, 20 + 48 * number), line, fill="black", font=ImageFont.load_default(28))
    return image


def encode(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png_that_claims(width: int, height: int) -> bytes:
    """A valid header and almost no data."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return PNG + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")


def shades(width: int, height: int) -> Image.Image:
    """Slopes, stripes and noise: no two blocks of a JPEG are alike."""
    random = np.random.default_rng(7)
    down, across = np.mgrid[:height, :width]
    red, green, noise = across * 255 // width, down * 255 // height, random.integers(0, 60, (height, width))
    return Image.fromarray(np.stack([red, green, (down // 3 % 2) * 190 + noise], axis=-1).astype(np.uint8))
