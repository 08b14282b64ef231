"""Draws and encodes pictures for tests."""

import io
import struct
import zlib

from PIL import Image, ImageDraw, ImageFont

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
