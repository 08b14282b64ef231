"""Drawings placed on grounds: one batch of pictures, by torch, all pictures at once."""

import io
import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as functional
from numpy.typing import NDArray
from PIL import Image

Random = np.random.Generator
SIDE = 64
"""Pixels of the square that the model sees."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One drawing in one picture."""

    picture: int
    """Which of the batch."""
    order: int
    """Lower ones lie beneath."""
    drawing: int
    """Row of the sheet."""
    x: float
    y: float
    """Centre, from -1 to 1."""
    scale: float
    """Of the picture's side."""
    turn: float
    """Radians."""
    tint: tuple[float, float, float] | None
    """Colour of a one-colour drawing, each in [0, 1]."""


def compose(pixels: NDArray[np.uint8], layers: list[Layer], grounds: torch.Tensor, rng: Random) -> torch.Tensor:
    """Lay drawings on grounds.

    Args:
        pixels: The sheet, RGBA multiplied by alpha, shape (drawings, side, side, 4).
        grounds: RGB in [0, 1], shape (pictures, 3, SIDE, SIDE); changed in place.
    Returns:
        `grounds`.
    """
    rows = np.stack([pixels[layer.drawing] for layer in layers])
    drawn = torch.from_numpy(rows).permute(0, 3, 1, 2).to(torch.float32, memory_format=torch.contiguous_format)
    tints = torch.tensor([(*(layer.tint or (1.0, 1.0, 1.0)), 1.0) for layer in layers])
    drawn = _restyle(drawn.mul_(tints[:, :, None, None] / 255), rng)
    maps = torch.tensor([_map(layer) for layer in layers], dtype=torch.float32)
    grid = functional.affine_grid(maps, [len(layers), 4, SIDE, SIDE], align_corners=False)
    drawn = functional.grid_sample(drawn, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    for order in sorted({layer.order for layer in layers}):
        here = [index for index, layer in enumerate(layers) if layer.order == order]
        where = torch.tensor([layers[index].picture for index in here])
        top = drawn[here]
        grounds[where] = top[:, :3] + grounds[where] * (1 - top[:, 3:])
    return grounds


def make_grounds(count: int, rng: Random) -> torch.Tensor:
    """Plain, gradient, noisy and cluttered grounds, RGB in [0, 1], shape (count, 3, SIDE, SIDE)."""
    colours = np.where(rng.random((count, 1)) < 0.5, 1.0, rng.random((count, 3)))
    colours = np.where(rng.random((count, 1)) < 0.1, 0.08, colours)
    grounds = torch.from_numpy(colours).float()[:, :, None, None].repeat(1, 1, SIDE, SIDE)
    kinds = rng.choice(4, count, p=(0.72, 0.12, 0.09, 0.07))
    line = torch.linspace(0, 1, SIDE)
    for index in np.flatnonzero(kinds == 1):
        angle, other = rng.uniform(0, 2 * math.pi), torch.from_numpy(rng.random(3)).float()
        ramp = (math.cos(angle) * line[:, None] + math.sin(angle) * line[None]).clamp(0, 1)
        grounds[index] += (other[:, None, None] - grounds[index]) * ramp
    noisy = np.flatnonzero(kinds == 2)
    if len(noisy):
        side = int(rng.choice((4, 8, 16, 48)))
        coarse = torch.from_numpy(rng.random((len(noisy), 3, side, side))).float()
        noise = functional.interpolate(coarse, (SIDE, SIDE), mode="bilinear", align_corners=False)
        grounds[noisy] += (noise - 0.5) * rng.uniform(0.1, 0.7)
    for index in np.flatnonzero(kinds == 3):
        _clutter(grounds[index], rng)
    return grounds.clamp_(0, 1)


def wear(pictures: torch.Tensor, rng: Random) -> torch.Tensor:
    """Blur, shrink, dim, bleach, add noise, and lose quality as JPEG: each to some pictures of the batch."""
    count = len(pictures)
    levels = torch.from_numpy(rng.uniform(0.8, 1.2, (count, 1, 1, 1))).float()
    shift = torch.from_numpy(rng.uniform(-0.1, 0.1, (count, 3, 1, 1)) * (rng.random((count, 1, 1, 1)) < 0.5)).float()
    pictures = pictures * levels + shift
    grey = _some(rng, count, 0.06)
    pictures[grey] = pictures[grey].mean(1, keepdim=True)
    blurred = _some(rng, count, 0.12)
    pictures[blurred] = functional.avg_pool2d(pictures[blurred], 3, 1, 1, count_include_pad=False)
    small = _some(rng, count, 0.15)
    if len(small):
        side = int(rng.integers(24, 56))
        shrunk = functional.interpolate(pictures[small], (side, side), mode="area")
        pictures[small] = functional.interpolate(shrunk, (SIDE, SIDE), mode="bilinear", align_corners=False)
    noisy = _some(rng, count, 0.12)
    pictures[noisy] += torch.from_numpy(rng.standard_normal((len(noisy), 3, SIDE, SIDE), np.float32)) * rng.uniform(
        0.01, 0.1
    )
    pictures = pictures.clamp_(0, 1)
    for index in _some(rng, count, 0.08):
        pictures[index] = _as_jpeg(pictures[index], int(rng.integers(15, 75)))
    bars = _some(rng, count, 0.1)
    if len(bars):
        cut = int(rng.integers(3, 16))
        if rng.random() < 0.5:
            pictures[bars, :, :cut], pictures[bars, :, -cut:] = 0, 0
        else:
            pictures[bars, :, :, :cut], pictures[bars, :, :, -cut:] = 0, 0
    return pictures


def letterbox(pixels: NDArray[np.uint8], rng: Random) -> torch.Tensor:
    """A document's picture, cut a little at its edges, its long side filling the square, black beside it.

    Returns:
        RGB in [0, 1], shape (3, SIDE, SIDE).
    """
    height, width = pixels.shape[:2]
    top, left = (int(rng.uniform(0, 0.07) * side) for side in (height, width))
    bottom, right = (side - int(rng.uniform(0, 0.07) * side) for side in (height, width))
    cut = Image.fromarray(pixels[top:bottom, left:right])
    if rng.random() < 0.3:
        share = rng.uniform(0.75, 1.3)
        cut = cut.resize((max(16, int(cut.width * share)), cut.height))
    scale = SIDE / max(cut.size)
    resample = Image.Resampling.BICUBIC if rng.random() < 0.7 else Image.Resampling.BOX
    cut = cut.resize((max(1, round(cut.width * scale)), max(1, round(cut.height * scale))), resample)
    square = Image.new("RGB", (SIDE, SIDE))
    square.paste(cut, ((SIDE - cut.width) // 2, (SIDE - cut.height) // 2))
    return torch.from_numpy(np.array(square)).permute(2, 0, 1).float() / 255


def _map(layer: Layer) -> list[list[float]]:
    """The output's coordinates to the drawing's."""
    cosine, sine = math.cos(layer.turn) / layer.scale, math.sin(layer.turn) / layer.scale
    across = [cosine, sine, -(cosine * layer.x + sine * layer.y)]
    down = [-sine, cosine, sine * layer.x - cosine * layer.y]
    return [across, down]


def _restyle(drawn: torch.Tensor, rng: Random) -> torch.Tensor:
    """Change in place: vary saturation and contrast; draw dark outlines round some; flatten the shades of some."""
    count = len(drawn)
    colour, alpha = drawn[:, :3], drawn[:, 3:]
    saturation = torch.from_numpy(rng.uniform(0.5, 1.4, (count, 1, 1, 1))).float()
    contrast = torch.from_numpy(rng.uniform(0.75, 1.25, (count, 1, 1, 1))).float()
    rest = colour.mean(1, keepdim=True) * ((1 - saturation) * contrast) + alpha * ((1 - contrast) * 0.5)
    colour.mul_(saturation * contrast).add_(rest)
    flat = _some(rng, count, 0.15)
    colour[flat] = torch.round(colour[flat] * 4) / 4
    lined = _some(rng, count, 0.35)
    if len(lined):
        width = int(rng.choice((3, 3, 5)))
        edge = _edges(torch.cat((colour[lined].mean(1, keepdim=True), alpha[lined]), 1), width)
        darkness = torch.from_numpy(rng.uniform(0.5, 1.0, (len(lined), 1, 1, 1))).float()
        line = (edge * 4).clamp(0, 1) * darkness
        colour[lined] *= 1 - line
        alpha[lined] = torch.maximum(alpha[lined], line)
    torch.minimum(colour.clamp_(min=0), alpha, out=colour)
    return drawn


def _edges(values: torch.Tensor, width: int) -> torch.Tensor:
    """How much a picture changes within `width` pixels, shape (n, 1, height, width)."""
    high = functional.max_pool2d(values, width, 1, width // 2)
    low = -functional.max_pool2d(-values, width, 1, width // 2)
    return ((high - low) - 0.15).clamp(min=0).amax(1, keepdim=True)


def _clutter(ground: torch.Tensor, rng: Random) -> None:
    for _ in range(int(rng.integers(2, 9))):
        top, left = rng.integers(0, SIDE - 4, 2)
        height, width = rng.integers(2, 26), rng.integers(4, 54)
        colour = torch.from_numpy(rng.random(3)).float()
        ground[:, top : top + height, left : left + width] = colour[:, None, None]


def _as_jpeg(picture: torch.Tensor, quality: int) -> torch.Tensor:
    values = (picture.permute(1, 2, 0) * 255).byte().numpy()
    stream = io.BytesIO()
    Image.fromarray(values).save(stream, "JPEG", quality=quality)
    return torch.from_numpy(np.array(Image.open(stream))).permute(2, 0, 1).float() / 255


def _some(rng: Random, count: int, share: float) -> NDArray[np.int64]:
    return np.flatnonzero(rng.random(count) < share)
