"""Maps, and noise with the statistics of photographs: made from random fields, no photograph is used."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

from headworks.intake.build.image_model.charts import Drawn
from headworks.intake.build.image_model.paper import Paper, blend

_SIDE = 160
Field = NDArray[np.float64]

_LAND_COLOURS = (
    ("#f2efe9",),
    ("#cccccc",),
    ("#fde0dd", "#fa9fb5", "#c51b8a"),
    ("#deebf7", "#9ecae1", "#3182bd"),
    ("#b3de69", "#fb8072", "#80b1d3", "#fdb462", "#bebada", "#ffffb3"),
    ("#e5f5e0", "#a1d99b", "#31a354"),
    ("#d9c79e", "#c2b280", "#9caf6b"),
)


def map_of_something(dice: random.Random, fonts: Sequence[Path]) -> Drawn:
    """Countries with borders and coasts, or the streets of a town."""
    return _streets(dice, fonts) if dice.random() < 0.4 else _countries(dice, fonts)


def photograph(dice: random.Random, fonts: Sequence[Path]) -> Drawn:
    """Leaves of random shape and texture over one another, a horizon, or a blurred face-like figure.

    Source:
        Dead leaves and 1/f noise stand in for photographs: Baradad et al. 2021, Learning to See by Looking at Noise.
    """
    rng = np.random.default_rng(dice.getrandbits(32))
    kind = dice.choice(("leaves", "leaves", "horizon", "figure", "texture"))
    make = {"leaves": _leaves, "horizon": _horizon, "figure": _figure, "texture": _texture}[kind]
    picture = make(dice, rng)
    values = np.asarray(picture, np.float64)
    rows, columns = np.mgrid[0 : values.shape[0], 0 : values.shape[1]] / _SIDE - 0.5
    light = 1 + dice.uniform(0, 0.5) * (columns * dice.uniform(-1, 1) + rows * dice.uniform(-1, 1))
    light -= dice.uniform(0, 0.6) * (rows**2 + columns**2)
    values = values * light[..., None] + rng.normal(0, dice.uniform(1, 9), values.shape)
    shot = Image.fromarray(np.clip(values, 0, 255).astype(np.uint8))
    wide = dice.choice((1.0, 1.0, 0.75, 0.67))
    box = (0, 0, _SIDE, round(_SIDE * wide)) if dice.random() < 0.6 else (0, 0, round(_SIDE * wide), _SIDE)
    return shot.crop(box), (
        "photograph",
        "photo",
        "photo taken with a camera",
        "real world photograph",
        "natural picture",
    )


def _field(rng: np.random.Generator, slope: float, side: int = _SIDE) -> Field:
    """Noise whose spectrum falls as 1/f^slope; zero mean, unit deviation, shape (side, side)."""
    frequency = np.hypot(*np.meshgrid(np.fft.fftfreq(side), np.fft.rfftfreq(side), indexing="ij"))
    frequency[0, 0] = 1
    spectrum = np.fft.rfft2(rng.standard_normal((side, side))) / frequency**slope
    spectrum[0, 0] = 0
    field: Field = np.fft.irfft2(spectrum, (side, side))
    field /= max(float(field.std()), 1e-9)
    return field


def _countries(dice: random.Random, fonts: Sequence[Path]) -> Drawn:
    rng = np.random.default_rng(dice.getrandbits(32))
    rows, columns = np.mgrid[0:_SIDE, 0:_SIDE].astype(np.float64)
    bend = dice.uniform(2, 7)
    rows, columns = rows + bend * _field(rng, 1.6), columns + bend * _field(rng, 1.6)
    seeds = rng.uniform(0, _SIDE, (dice.randint(4, 60), 2))
    distance = (rows[..., None] - seeds[:, 0]) ** 2 + (columns[..., None] - seeds[:, 1]) ** 2
    country = distance.argmin(-1)
    land = _field(rng, dice.uniform(1.5, 2.0)) > dice.uniform(-0.8, 0.4)
    if dice.random() < 0.25:
        land[:] = True
    sea = dice.choice(("#a8d0e6", "#ffffff", "#cfe8f3", "#1d3557", "#e6f2f8", "#d4dadc"))
    palette = dice.choice(_LAND_COLOURS)
    colours = np.array([blend(dice.choice(palette), (255, 255, 255), 1) for _ in seeds], np.uint8)
    values = np.where(land[..., None], colours[country], np.array(blend(sea, (0, 0, 0), 1), np.uint8))
    areas = np.where(land, country, -1)
    edge = (areas != np.roll(areas, 1, 0)) | (areas != np.roll(areas, 1, 1))
    edge[0], edge[:, 0] = False, False
    line = dice.choice(("#ffffff", "#000000", "#555555", "#888888"))
    values[edge] = blend(line, (0, 0, 0), 1)
    paper = Paper(dice, fonts, _SIDE, _SIDE, "#ffffff")
    paper.image.paste(Image.fromarray(values).resize((paper.width, paper.height), Image.Resampling.BICUBIC))
    for _ in range(dice.choice((0, 0, 3, 8))):
        paper.text((dice.uniform(0, paper.width), dice.uniform(0, paper.height)), paper.word(), 13, "#333333", "mm")
    picture = paper.finish()
    if dice.random() < 0.4:
        height = round(_SIDE * dice.uniform(0.5, 0.8))
        picture = picture.crop((0, 0, _SIDE, height))
    captions = ("map", "map of countries", "geographic map", "map with borders and coasts", "world map")
    return picture, captions


def _streets(dice: random.Random, fonts: Sequence[Path]) -> Drawn:
    ground = dice.choice(("#f2efe9", "#e8e8e8", "#ebe6dc", "#242f3e"))
    paper = Paper(dice, fonts, _SIDE, round(_SIDE * dice.choice((1.0, 0.7))), ground)
    wide, tall = paper.width, paper.height
    for colour in ("#c8e6c0", "#cdebb0", "#aad3df")[: dice.randint(1, 3)]:
        x, y = dice.uniform(0, wide), dice.uniform(0, tall)
        corners = [(x + dice.uniform(-90, 90), y + dice.uniform(-70, 70)) for _ in range(5)]
        paper.draw.polygon(corners, fill=colour)
    if dice.random() < 0.6:
        river = [(wide * step / 6, tall * dice.uniform(0.2, 0.8)) for step in range(-1, 8)]
        paper.draw.line(river, fill="#aad3df", width=dice.randint(10, 34), joint="curve")
    turn, gap = dice.uniform(-0.5, 0.5), dice.uniform(22, 54)
    street = "#ffffff" if ground != "#242f3e" else "#38414e"
    for index in range(-16, 24):
        offset = index * gap + dice.uniform(-5, 5)
        for across in (True, False):
            if dice.random() < 0.85:
                start = (offset, -40.0) if across else (-40.0, offset)
                end = (offset + turn * tall, tall + 40.0) if across else (wide + 40.0, offset - turn * wide)
                paper.draw.line((*start, *end), fill=street, width=dice.choice((3, 4, 6)))
    for _ in range(dice.randint(1, 3)):
        path = [(wide * step / 3, dice.uniform(0, tall)) for step in range(-1, 5)]
        width, colour = dice.randint(7, 12), dice.choice(("#f9d56e", "#fcd6a4", "#e892a2", "#ffffff"))
        paper.draw.line(path, fill="#b08a4a", width=width + 3, joint="curve")
        paper.draw.line(path, fill=colour, width=width, joint="curve")
    for _ in range(dice.randint(0, 7)):
        paper.text((dice.uniform(0, wide), dice.uniform(0, tall)), paper.words(2), 11, "#555555", "mm")
    if dice.random() < 0.4:
        x, y = dice.uniform(40, wide - 40), dice.uniform(60, tall - 20)
        paper.draw.polygon(((x, y), (x - 12, y - 24), (x + 12, y - 24)), fill="#e53935")
        paper.draw.ellipse((x - 14, y - 42, x + 14, y - 14), fill="#e53935")
    return paper.finish(), ("map", "street map", "map of a town", "city map with streets", "road map")


def _tint(dice: random.Random, rng: np.random.Generator, slope: float, strength: float) -> Field:
    """A coloured texture as pictures of things have: brightness varies most; shape (_SIDE, _SIDE, 3)."""
    base = np.array([dice.uniform(20, 210), dice.uniform(20, 200), dice.uniform(10, 190)])
    base = base.mean() + (base - base.mean()) * dice.uniform(0.2, 0.9)
    bright = _field(rng, slope)[..., None] * strength
    colour = np.stack([_field(rng, slope + 0.4) for _ in range(3)], -1) * strength * 0.25
    tinted: Field = base + bright + colour
    return tinted


def _texture(dice: random.Random, rng: np.random.Generator) -> Image.Image:
    return _image(_tint(dice, rng, dice.uniform(0.8, 1.6), dice.uniform(20, 55)))


def _leaves(dice: random.Random, rng: np.random.Generator) -> Image.Image:
    values = _tint(dice, rng, 1.5, 30)
    textures = [_tint(dice, rng, dice.uniform(1.0, 1.8), dice.uniform(8, 35)) for _ in range(6)]
    for _ in range(dice.randint(12, 70)):
        mask = Image.new("L", (_SIDE, _SIDE))
        size = min(70.0, 8 / max(0.06, dice.random()) ** 1.1)
        x, y, turn = dice.uniform(0, _SIDE), dice.uniform(0, _SIDE), dice.uniform(0, 6.3)
        corners = [
            (
                x + size * dice.uniform(0.5, 1.2) * np.cos(turn + angle),
                y + size * dice.uniform(0.5, 1.2) * np.sin(turn + angle),
            )
            for angle in np.linspace(0, 6.28, dice.choice((4, 6, 12, 16)), endpoint=False)
        ]
        ImageDraw.Draw(mask).polygon(corners, fill=255)
        share = (
            np.asarray(mask.filter(ImageFilter.GaussianBlur(dice.choice((0.5, 1, 2, 4)))), np.float64)[..., None] / 255
        )
        values = values * (1 - share) + (dice.choice(textures) * dice.uniform(0.5, 1.25)) * share
    return _image(values)


def _horizon(dice: random.Random, rng: np.random.Generator) -> Image.Image:
    fall = np.linspace(0, 1, _SIDE)[:, None, None]
    high, low = np.array((90, 140, 210)), np.array((215, 220, 225))
    if dice.random() < 0.35:
        high, low = np.array((60, 50, 90)), np.array((250, 150, 80))
    values = high * (1 - fall) + low * fall + np.clip(_field(rng, 1.7), 0, 3)[..., None] * dice.uniform(0, 30)
    level = _SIDE * dice.uniform(0.3, 0.75)
    for depth in range(dice.randint(1, 4)):
        ridge = level + depth * dice.uniform(8, 25) + dice.uniform(2, 16) * _field(rng, 1.8)[0]
        ground = _tint(dice, rng, dice.uniform(0.9, 1.4), dice.uniform(12, 40)) * dice.uniform(0.5, 1)
        below = np.mgrid[0:_SIDE, 0:_SIDE][0] > ridge
        values = np.where(below[..., None], ground, values)
    return _image(values)


def _figure(dice: random.Random, rng: np.random.Generator) -> Image.Image:
    ground = _image(_tint(dice, rng, 1.5, 45)).filter(ImageFilter.GaussianBlur(dice.uniform(2, 7)))
    skin = _image(_tint(dice, rng, 1.6, 16))
    cloth = _image(_tint(dice, rng, 1.2, 25))
    mask, body = Image.new("L", (_SIDE, _SIDE)), Image.new("L", (_SIDE, _SIDE))
    x, y, size = _SIDE * dice.uniform(0.3, 0.7), _SIDE * dice.uniform(0.3, 0.5), _SIDE * dice.uniform(0.13, 0.28)
    ImageDraw.Draw(body).ellipse((x - 2.1 * size, y + 1.1 * size, x + 2.1 * size, y + 6 * size), fill=255)
    ImageDraw.Draw(mask).ellipse((x - 0.8 * size, y - size, x + 0.8 * size, y + 1.2 * size), fill=255)
    for layer, shape in ((cloth, body), (skin, mask)):
        ground.paste(layer, (0, 0), shape.filter(ImageFilter.GaussianBlur(2)))
    shade = Image.new("L", (_SIDE, _SIDE))
    for side in (-0.35, 0.35):
        ImageDraw.Draw(shade).ellipse((x + side * size - 5, y - 6, x + side * size + 5, y + 2), fill=170)
    ImageDraw.Draw(shade).ellipse((x - 0.9 * size, y - 1.3 * size, x + 0.9 * size, y - 0.4 * size), fill=200)
    ground.paste(_image(_tint(dice, rng, 1.2, 12) * 0.4), (0, 0), shade.filter(ImageFilter.GaussianBlur(2)))
    return ground


def _image(values: Field) -> Image.Image:
    return Image.fromarray(np.clip(values, 0, 255).astype(np.uint8))
