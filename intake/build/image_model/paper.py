"""A sheet to draw charts and documents on, with what they share: letters, colours, invented words."""

import random
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

Colour = tuple[int, int, int]
Point = tuple[float, float]

_PALETTES: tuple[tuple[str, ...], ...] = (
    ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b"),
    ("#4285f4", "#db4437", "#f4b400", "#0f9d58", "#ab47bc", "#00acc1"),
    ("#003f5c", "#58508d", "#bc5090", "#ff6361", "#ffa600", "#2f4b7c"),
    ("#264653", "#2a9d8f", "#e9c46a", "#f4a261", "#e76f51", "#8ab17d"),
    ("#222222", "#555555", "#888888", "#aaaaaa", "#333333", "#777777"),
    ("#5b8ff9", "#5ad8a6", "#5d7092", "#f6bd16", "#e8684a", "#6dc8ec"),
    ("#8dd3c7", "#fb8072", "#80b1d3", "#fdb462", "#b3de69", "#bebada"),
)
_SYLLABLES = (
    "ka", "lo", "mi", "ter", "san", "der", "vo", "re", "pli", "an", "tor", "es", "ben",
    "ing", "mar", "qui", "sol", "fen", "gra", "du", "ne", "bo", "ly", "ham", "stro", "pe",
)  # fmt: skip


class Paper:
    """A picture twice as large as what is kept of it, so that lines come out smooth."""

    def __init__(self, dice: random.Random, fonts: Sequence[Path], width: int, height: int, ground: str) -> None:
        """Take the size in kept pixels and the colour of the ground."""
        self.dice = dice
        self.width, self.height = width * 2, height * 2
        self.image = Image.new("RGB", (self.width, self.height), ground)
        self.draw = ImageDraw.Draw(self.image)
        self.font_path = dice.choice(fonts)
        self.palette = list(dice.choice(_PALETTES))
        if dice.random() < 0.6:
            dice.shuffle(self.palette)

    def finish(self) -> Image.Image:
        """Return the kept picture."""
        return self.image.resize((self.width // 2, self.height // 2), Image.Resampling.BOX)

    def font(self, size: float) -> ImageFont.FreeTypeFont:
        """Return the sheet's font at a size in drawn pixels."""
        return ImageFont.truetype(str(self.font_path), max(5, round(size)))

    def text(self, at: Point, words: str, size: float, colour: str, anchor: str = "la") -> None:
        """Write one line; `anchor` is Pillow's."""
        self.draw.text(at, words, fill=colour, font=self.font(size), anchor=anchor)

    def word(self) -> str:
        """Invent a word."""
        word = "".join(self.dice.choice(_SYLLABLES) for _ in range(self.dice.randint(1, 4)))
        return word.capitalize() if self.dice.random() < 0.3 else word

    def words(self, count: int) -> str:
        """Invent some words."""
        return " ".join(self.word() for _ in range(count))

    def number(self) -> str:
        """Invent a number as tables print them."""
        value = self.dice.uniform(0, 10 ** self.dice.randint(1, 5))
        return self.dice.choice((f"{value:.0f}", f"{value:.2f}", f"{value:,.0f}", f"{value:.1f}%", f"${value:,.2f}"))

    def arrow(self, start: Point, end: Point, colour: str, width: int) -> None:
        """Draw a line with a filled head at its end."""
        self.draw.line((*start, *end), fill=colour, width=width)
        (x0, y0), (x1, y1) = start, end
        length = max(1.0, ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5)
        dx, dy = (x1 - x0) / length, (y1 - y0) / length
        head = 4 + 3 * width
        left = (x1 - head * dx - head * dy / 2, y1 - head * dy + head * dx / 2)
        right = (x1 - head * dx + head * dy / 2, y1 - head * dy - head * dx / 2)
        self.draw.polygon((end, left, right), fill=colour)


def new_paper(dice: random.Random, fonts: Sequence[Path], dark_share: float = 0.15) -> tuple[Paper, str]:
    """Make a sheet of a usual chart's shape; return it with the colour of its ink."""
    dark = dice.random() < dark_share
    ground = dice.choice(("#000000", "#1e1e1e", "#22272e", "#0f172a")) if dark else _light(dice)
    ink = dice.choice(("#ffffff", "#cccccc", "#aaaaaa")) if dark else dice.choice(("#000000", "#333333", "#666666"))
    long_side = 192
    aspect = dice.choice((1.0, 1.2, 1.33, 1.33, 1.5, 1.6, 1.78, 2.0, 0.8))
    size = (long_side, round(long_side / aspect)) if aspect >= 1 else (round(long_side * aspect), long_side)
    return Paper(dice, fonts, *size, ground), ink


def _light(dice: random.Random) -> str:
    return dice.choice(("#ffffff", "#ffffff", "#ffffff", "#fafafa", "#f0f0f0", "#e8eef4", "#fdf6e3", "#eaeaf2"))


def blend(colour: str, ground: Colour, share: float) -> Colour:
    """Mix a colour into a ground; share 1 is the colour itself."""
    value = int(colour[1:], 16)
    parts = (value >> 16, (value >> 8) & 255, value & 255)
    red, green, blue = (round(part * share + back * (1 - share)) for part, back in zip(parts, ground, strict=True))
    return red, green, blue
