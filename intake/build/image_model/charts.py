"""Charts and diagrams, drawn with Pillow: each function returns a picture and captions that are true of it."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from PIL import Image

from headworks.intake.build.image_model.paper import Colour, Paper, Point, blend, new_paper

Drawn = tuple[Image.Image, tuple[str, ...]]
COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


@dataclass(frozen=True, slots=True)
class _Plot:
    """The inner rectangle of a chart, drawn pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def at(self, x: float, y: float) -> Point:
        """Map the unit square, y upwards, to pixels."""
        return self.left + x * (self.right - self.left), self.bottom - y * (self.bottom - self.top)


def bar_chart(dice: random.Random, fonts: Sequence[Path]) -> Drawn:
    """Upright or lying bars, plain, grouped or stacked."""
    paper, ink = new_paper(dice, fonts)
    plot = _axes(paper, ink)
    bars, series = dice.randint(3, 12), dice.choice((1, 1, 1, 2, 3))
    lying, stacked = dice.random() < 0.3, dice.random() < 0.4
    colours = paper.palette[:series]
    many_colours = series == 1 and dice.random() < 0.3
    gap = dice.uniform(0.1, 0.5)
    trend = dice.choice((None, None, "up", "down"))
    for bar in range(bars):
        base = 0.0
        for layer in range(series):
            size = _height(dice, trend, bar / bars)
            start, width = (bar + gap / 2) / bars, (1 - gap) / bars
            if series > 1 and not stacked:
                width /= series
                start += layer * width
            elif series > 1:
                size /= series
            colour = paper.palette[bar % 6] if many_colours else colours[layer]
            low, high = (base, base + size) if stacked else (0.0, size)
            corners = (
                (plot.at(low, start), plot.at(high, start + width))
                if lying
                else (
                    plot.at(start, low),
                    plot.at(start + width, high),
                )
            )
            _box(paper, corners, colour, ink if dice.random() < 0.15 else None)
            base += size
    _legend(paper, plot, series, ink)
    kind = "stacked bar chart" if stacked and series > 1 else "horizontal bar chart" if lying else "bar chart"
    return paper.finish(), ("bar chart", kind, f"{kind} with {COUNTS[bars]} bars", "column chart", "bar graph")


def line_chart(dice: random.Random, fonts: Sequence[Path]) -> Drawn:
    """One to five lines, smooth or jagged, some with markers or a filled area."""
    paper, ink = new_paper(dice, fonts)
    plot = _axes(paper, ink)
    lines, points = dice.choice((1, 1, 2, 2, 3, 4, 5)), dice.choice((5, 8, 12, 30, 80))
    width, markers = dice.choice((2, 3, 4, 6)), dice.random() < 0.35 and points <= 12
    area = lines == 1 and dice.random() < 0.25
    for line in range(lines):
        path = [plot.at(index / (points - 1), y) for index, y in enumerate(_walk(dice, points))]
        colour = paper.palette[line]
        if area:
            fill = blend(colour, _ground(paper), 0.4)
            paper.draw.polygon([plot.at(0, 0), *path, plot.at(1, 0)], fill=fill)
        if dice.random() < 0.12:
            for start, end in zip(path[::2], path[1::2], strict=False):
                paper.draw.line((*start, *end), fill=colour, width=width)
        else:
            paper.draw.line(path, fill=colour, width=width, joint="curve")
        for x, y in path if markers else ():
            paper.draw.ellipse((x - 2 * width, y - 2 * width, x + 2 * width, y + 2 * width), fill=colour)
    _legend(paper, plot, lines, ink)
    said = f"line chart with {COUNTS[lines]} line{'s' if lines > 1 else ''}"
    return paper.finish(), ("line chart", said, "line graph", "curve over time", "area chart" if area else "line chart")


def scatter_plot(dice: random.Random, fonts: Sequence[Path]) -> Drawn:
    """Points in clouds, along trends, or as bubbles."""
    paper, ink = new_paper(dice, fonts)
    plot = _axes(paper, ink)
    groups, bubbles = dice.choice((1, 1, 2, 3, 4)), dice.random() < 0.25
    size = dice.uniform(2, 8)
    for group in range(groups):
        slope, x0, y0 = dice.choice((0, 0.7, -0.7)), dice.uniform(0.2, 0.8), dice.uniform(0.2, 0.8)
        spread, noise = dice.uniform(0.08, 0.35), dice.uniform(0.03, 0.2)
        shape = dice.choice(("dot", "dot", "dot", "ring", "square", "cross"))
        for _ in range(dice.randint(12, 150 // groups)):
            x = dice.gauss(x0, spread)
            y = y0 + slope * (x - x0) + dice.gauss(0, noise)
            if 0.01 < x < 0.99 and 0.01 < y < 0.99:
                _mark(
                    paper, plot.at(x, y), size * (dice.uniform(0.6, 3.5) if bubbles else 1), paper.palette[group], shape
                )
    _legend(paper, plot, groups, ink)
    said = (
        "bubble chart" if bubbles else f"scatter plot with {COUNTS[groups]} group{'s' if groups > 1 else ''} of points"
    )
    return paper.finish(), ("scatter plot", said, "scatter chart", "cloud of points")


def pie_chart(dice: random.Random, fonts: Sequence[Path]) -> Drawn:
    """A pie or a ring of slices, with a legend or labels beside it."""
    paper, ink = new_paper(dice, fonts)
    slices, ring = dice.randint(2, 8), dice.random() < 0.3
    weights = [dice.uniform(0.3, 2) for _ in range(slices)]
    radius = min(paper.width, paper.height) * dice.uniform(0.28, 0.44)
    x = paper.width * dice.choice((0.5, 0.5, 0.35, 0.62))
    y = paper.height * dice.uniform(0.48, 0.56)
    x = min(max(x, radius + 4), paper.width - radius - 4)
    angle, rim = dice.uniform(0, 360), dice.choice((None, "#ffffff", "#ffffff", ink))
    for index, weight in enumerate(weights):
        sweep = 360 * weight / sum(weights)
        middle = math.radians(angle + sweep / 2)
        out = radius * 0.1 if dice.random() < 0.08 else 0
        cx, cy = x + out * math.cos(middle), y + out * math.sin(middle)
        box = (cx - radius, cy - radius, cx + radius, cy + radius)
        colour = paper.palette[index % 6]
        paper.draw.pieslice(box, angle, angle + sweep, fill=colour, outline=rim, width=3)
        where = (x + 1.15 * radius * math.cos(middle), y + 1.15 * radius * math.sin(middle))
        if dice.random() < 0.6:
            paper.text(where, paper.word(), 12, ink, "mm")
        angle += sweep
    if ring:
        inner = radius * dice.uniform(0.4, 0.7)
        paper.draw.ellipse((x - inner, y - inner, x + inner, y + inner), fill=_ground(paper))
    if dice.random() < 0.7:
        _title(paper, ink)
    if dice.random() < 0.4:
        _keys(paper, paper.width * 0.8, paper.height * 0.3, slices, ink)
    kind = "donut chart" if ring else "pie chart"
    return paper.finish(), ("pie chart", kind, f"{kind} with {COUNTS[slices]} slices", "circle cut into shares")


def heat_map(dice: random.Random, fonts: Sequence[Path]) -> Drawn:
    """A grid of cells coloured by value, with a scale beside it or numbers inside."""
    paper, ink = new_paper(dice, fonts)
    columns, rows = dice.randint(4, 24), dice.randint(4, 20)
    left, top = paper.width * dice.uniform(0.06, 0.2), paper.height * dice.uniform(0.06, 0.16)
    right, bottom = paper.width * dice.uniform(0.78, 0.94), paper.height * dice.uniform(0.8, 0.94)
    scale = dice.choice(_SCALES)
    fx, fy, phase, rough = dice.uniform(0.1, 0.9), dice.uniform(0.1, 0.9), dice.uniform(0, 6), dice.uniform(0.05, 0.5)
    diagonal = columns == rows or dice.random() < 0.3
    wide, tall = (right - left) / columns, (bottom - top) / rows
    rim = dice.choice((None, None, "#ffffff"))
    numbers = columns <= 8 and dice.random() < 0.6
    for row in range(rows):
        for column in range(columns):
            wave = 0.5 + 0.4 * math.sin(fx * column + phase) * math.cos(fy * row)
            near = 1.0 if diagonal and round(column * rows / columns) == row else wave
            value = min(1.0, max(0.0, near + dice.gauss(0, rough) * (near < 1)))
            box = (left + column * wide, top + row * tall, left + (column + 1) * wide, top + (row + 1) * tall)
            paper.draw.rectangle(box, fill=_on_scale(scale, value), outline=rim)
            if numbers:
                centre = (box[0] + wide / 2, box[1] + tall / 2)
                paper.text(centre, f"{value:.1f}", tall * 0.4, "#ffffff" if value > 0.6 else "#222222", "mm")
    if dice.random() < 0.6:
        for step in range(40):
            y = bottom - (step + 1) * (bottom - top) / 40
            x = right + paper.width * 0.02
            paper.draw.rectangle(
                (x, y, x + paper.width * 0.03, y + (bottom - top) / 40 + 1), fill=_on_scale(scale, step / 39)
            )
    if dice.random() < 0.5:
        _title(paper, ink)
    for column in range(columns):
        paper.text((left + (column + 0.5) * wide, bottom + 2), paper.word()[:3], 9, ink, "ma")
    return paper.finish(), ("heat map", "heat map of a matrix", "grid of coloured cells", "correlation matrix")


def flow_chart(dice: random.Random, fonts: Sequence[Path]) -> Drawn:
    """Boxes, diamonds and rounds joined by arrows, layer by layer, downwards or to the right."""
    paper, ink = new_paper(dice, fonts)
    layers = [dice.choice((1, 1, 2, 2, 3)) for _ in range(dice.randint(3, 6))]
    sideways = dice.random() < 0.4
    filled, width = dice.random() < 0.55, dice.choice((2, 2, 3, 4))
    centres: list[list[Point]] = []
    for depth, count in enumerate(layers):
        along = (depth + 0.5) / len(layers)
        across = [(index + 0.5) / count + dice.uniform(-0.04, 0.04) for index in range(count)]
        centres.append([(along, side) if sideways else (side, along) for side in across])
    wide = paper.width / (len(layers) if sideways else max(layers)) * dice.uniform(0.4, 0.66)
    tall = paper.height / (max(layers) if sideways else len(layers)) * dice.uniform(0.36, 0.6)
    wide, tall = min(wide, paper.width * 0.34), min(tall, wide)
    for upper, lower in pairwise(centres):
        for target in lower:
            for source in dice.sample(upper, min(len(upper), dice.choice((1, 1, 2)))):
                _join(paper, source, target, (wide, tall), sideways, ink, width)
    for layer in centres:
        for centre in layer:
            colour = blend(dice.choice(paper.palette[:3]), _ground(paper), dice.choice((0.3, 0.6, 1.0)))
            _node(paper, centre, (wide, tall), colour if filled else None, ink, width)
    return paper.finish(), (
        "flow chart",
        "flow chart with boxes and arrows",
        "flow diagram",
        "process diagram",
        "diagram",
    )


_SCALES = (
    ("#440154", "#31688e", "#35b779", "#fde725"),
    ("#000004", "#b63679", "#fb8861", "#fcfdbf"),
    ("#2166ac", "#f7f7f7", "#b2182b"),
    ("#ffffff", "#08519c"),
    ("#ffffcc", "#fd8d3c", "#800026"),
    ("#f7fcf5", "#238b45", "#00441b"),
    ("#0000ff", "#00ffff", "#ffff00", "#ff0000"),
    ("#ffffff", "#000000"),
)


def _on_scale(scale: Sequence[str], value: float) -> Colour:
    place = value * (len(scale) - 1)
    index = min(int(place), len(scale) - 2)
    below = blend(scale[index], (0, 0, 0), 1)
    return blend(scale[index + 1], below, place - index)


def _ground(paper: Paper) -> Colour:
    red, green, blue = paper.image.crop((0, 0, 1, 1)).tobytes()
    return red, green, blue


def _axes(paper: Paper, ink: str) -> _Plot:
    dice = paper.dice
    plot = _Plot(
        paper.width * dice.uniform(0.06, 0.17),
        paper.height * dice.uniform(0.04, 0.16),
        paper.width * dice.uniform(0.86, 0.97),
        paper.height * dice.uniform(0.8, 0.93),
    )
    if dice.random() < 0.15:
        paper.draw.rectangle((plot.left, plot.top, plot.right, plot.bottom), fill=blend("#8899bb", _ground(paper), 0.2))
    _grid_and_ticks(paper, plot, ink)
    _frame(paper, plot, ink)
    if dice.random() < 0.6:
        _title(paper, ink)
    return plot


def _grid_and_ticks(paper: Paper, plot: _Plot, ink: str) -> None:
    dice = paper.dice
    grid = blend(ink, _ground(paper), 0.22)
    steps, across = dice.randint(3, 7), dice.randint(3, 10)
    lines, ticks = dice.choice(("none", "rows", "rows", "both")), dice.random() < 0.7
    for step in range(steps + 1):
        x, y = plot.at(0, step / steps)
        if lines != "none":
            paper.draw.line((x, y, plot.right, y), fill=grid, width=2)
        if ticks:
            paper.text((x - 5, y), str(step * dice.choice((5, 20, 100))), 11, ink, "rm")
    for step in range(across + 1):
        x, y = plot.at(step / across, 0)
        if lines == "both":
            paper.draw.line((x, plot.top, x, y), fill=grid, width=2)
        if ticks:
            paper.text((x, y + 4), paper.word()[:4] if across < 7 else str(step), 11, ink, "ma")


def _frame(paper: Paper, plot: _Plot, ink: str) -> None:
    frame = paper.dice.choice(("corner", "corner", "box", "box", "none", "bottom"))
    if frame == "box":
        paper.draw.rectangle((plot.left, plot.top, plot.right, plot.bottom), outline=ink, width=2)
    if frame in ("corner", "bottom"):
        paper.draw.line((plot.left, plot.bottom, plot.right, plot.bottom), fill=ink, width=2)
    if frame == "corner":
        paper.draw.line((plot.left, plot.top, plot.left, plot.bottom), fill=ink, width=2)


def _title(paper: Paper, ink: str) -> None:
    where = (paper.width / 2, 4) if paper.dice.random() < 0.7 else (paper.width * 0.08, 4)
    paper.text(
        where, paper.words(paper.dice.randint(2, 4)), paper.dice.uniform(13, 22), ink, "ma" if where[0] > 99 else "la"
    )


def _legend(paper: Paper, plot: _Plot, entries: int, ink: str) -> None:
    if paper.dice.random() < (0.6 if entries > 1 else 0.2):
        x = paper.dice.choice((plot.left + 10, plot.right - 80))
        _keys(paper, x, plot.top + 8, entries, ink)


def _keys(paper: Paper, x: float, y: float, entries: int, ink: str) -> None:
    for entry in range(entries):
        paper.draw.rectangle((x, y + 16 * entry, x + 12, y + 16 * entry + 10), fill=paper.palette[entry % 6])
        paper.text((x + 17, y + 16 * entry + 5), paper.word(), 12, ink, "lm")


def _height(dice: random.Random, trend: str | None, place: float) -> float:
    free = dice.uniform(0.08, 0.98)
    towards = {None: free, "up": 0.1 + 0.85 * place, "down": 0.95 - 0.85 * place}[trend]
    return 0.75 * towards + 0.25 * free


def _walk(dice: random.Random, points: int) -> list[float]:
    if dice.random() < 0.25:
        turns, phase, low = dice.uniform(0.5, 4), dice.uniform(0, 6), dice.uniform(0.1, 0.4)
        return [0.5 + (0.5 - low) * math.sin(phase + turns * 6.28 * index / points) for index in range(points)]
    level, drift, found = dice.uniform(0.2, 0.8), dice.uniform(-0.6, 0.6) / points, []
    for _ in range(points):
        level = min(0.97, max(0.03, level + drift + dice.gauss(0, 0.45 / points**0.5)))
        found.append(level)
    return found


def _box(paper: Paper, corners: tuple[Point, Point], colour: str, rim: str | None) -> None:
    (x0, y0), (x1, y1) = corners
    paper.draw.rectangle((min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)), fill=colour, outline=rim, width=2)


def _mark(paper: Paper, at: Point, size: float, colour: str, shape: str) -> None:
    x, y = at
    box = (x - size, y - size, x + size, y + size)
    marks: dict[str, Callable[[], None]] = {
        "dot": lambda: paper.draw.ellipse(box, fill=colour),
        "ring": lambda: paper.draw.ellipse(box, outline=colour, width=2),
        "square": lambda: paper.draw.rectangle(box, fill=colour),
        "cross": lambda: paper.draw.line((box[0], box[1], box[2], box[3]), fill=colour, width=2),
    }
    marks[shape]()
    if shape == "cross":
        paper.draw.line((box[0], box[3], box[2], box[1]), fill=colour, width=2)


def _join(paper: Paper, source: Point, target: Point, size: Point, sideways: bool, ink: str, width: int) -> None:
    (x0, y0), (x1, y1) = ((x * paper.width, y * paper.height) for x, y in (source, target))
    if sideways:
        x0, x1 = x0 + size[0] / 2, x1 - size[0] / 2
    else:
        y0, y1 = y0 + size[1] / 2, y1 - size[1] / 2
    if paper.dice.random() < 0.5:
        paper.arrow((x0, y0), (x1, y1), ink, width)
    elif sideways:
        middle = (x0 + x1) / 2
        paper.draw.line((x0, y0, middle, y0, middle, y1), fill=ink, width=width)
        paper.arrow((middle, y1), (x1, y1), ink, width)
    else:
        middle = (y0 + y1) / 2
        paper.draw.line((x0, y0, x0, middle, x1, middle), fill=ink, width=width)
        paper.arrow((x1, middle), (x1, y1), ink, width)


def _node(paper: Paper, centre: Point, size: Point, colour: Colour | None, ink: str, width: int) -> None:
    x, y, wide, tall = centre[0] * paper.width, centre[1] * paper.height, size[0], size[1]
    box = (x - wide / 2, y - tall / 2, x + wide / 2, y + tall / 2)
    fill = colour or _ground(paper)
    shape = paper.dice.choice(("box", "box", "round", "diamond", "oval"))
    if shape == "diamond":
        corners = ((x, box[1] - 4), (box[2] + 4, y), (x, box[3] + 4), (box[0] - 4, y))
        paper.draw.polygon(corners, fill=fill, outline=ink, width=width)
    elif shape == "oval":
        paper.draw.ellipse(box, fill=fill, outline=ink, width=width)
    else:
        paper.draw.rounded_rectangle(box, tall / 4 if shape == "round" else 0, fill=fill, outline=ink, width=width)
    paper.text((x, y), paper.word()[:8], min(tall * 0.34, wide * 0.2), ink, "mm")
