"""Draw receipt.png, the demo turn's picture: python server/cli/demo/draw_receipt.py"""

from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

LINES = (
    ("HEADWORKS CAFE", ""),
    ("Receipt 2025-03", ""),
    ("Coffee beans", "18.50"),
    ("Green tea", "7.25"),
    ("Oat milk", "3.90"),
    ("TOTAL", "29.65"),
)
"""(left, right) of each printed line."""


def draw() -> Image.Image:
    """Black on white, 480 pixels wide."""
    image = Image.new("L", (480, 60 + 52 * len(LINES)), 255)
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(30)
    for number, (left, right) in enumerate(LINES):
        top = 36 + 52 * number
        pen.text((30, top), left, fill=0, font=font)
        pen.text((450 - pen.textlength(right, font=font), top), right, fill=0, font=font)
    return image


if __name__ == "__main__":
    draw().save(Path(__file__).with_name("receipt.png"), optimize=True)
