"""The training curve as a picture."""

from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from headworks.intake.build.image_model.learn import Point

_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 900, 480, 60, 40, 840, 430
_INK, _GRID = "#333333", "#dddddd"
_LINES = (("loss (right)", "#888888"), ("unseen emoji style, top-1", "#1f77b4"), ("unseen documents, top-1", "#d62728"))


def plot(curve: Sequence[Point], path: Path) -> None:
    """Draw both validation scores (left, 0 to 1) and the loss (right, 0 to its largest) over the steps."""
    image = Image.new("RGB", (_WIDTH, _HEIGHT), "white")
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(14)
    top_loss, last = max(point.loss for point in curve), curve[-1].step
    for tenth in range(0, 11, 2):
        y = _y(tenth / 10)
        draw.line((_LEFT, y, _RIGHT, y), fill=_GRID)
        draw.text((_LEFT - 8, y), f"{tenth / 10:.1f}", fill=_INK, font=font, anchor="rm")
        draw.text((_RIGHT + 8, y), f"{top_loss * tenth / 10:.1f}", fill=_INK, font=font, anchor="lm")
        draw.text((_x(tenth / 10), _BOTTOM + 8), f"{round(last * tenth / 10)}", fill=_INK, font=font, anchor="ma")
    draw.text(((_LEFT + _RIGHT) / 2, _HEIGHT - 4), "step", fill=_INK, font=font, anchor="ms")
    values = [
        [point.loss / top_loss for point in curve],
        [point.emoji_top1 for point in curve],
        [point.kind_top1 for point in curve],
    ]
    for index, ((name, colour), heights) in enumerate(zip(_LINES, values, strict=True)):
        path_ = [(_x(point.step / last), _y(height)) for point, height in zip(curve, heights, strict=True)]
        draw.line(path_, fill=colour, width=3, joint="curve")
        draw.text((_LEFT + 10 + 260 * index, 12), name, fill=colour, font=font)
    image.save(path, optimize=True)


def _x(share: float) -> float:
    return _LEFT + share * (_RIGHT - _LEFT)


def _y(share: float) -> float:
    return _BOTTOM - share * (_BOTTOM - _TOP)
