"""The kinds of document, each with what draws it; drawn once into one file."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headworks.intake.build.image_model import charts, documents, scenery
from headworks.intake.build.image_model.charts import Drawn
from headworks.intake.build.image_model.progress import Progress
from headworks.intake.build.image_model.sets import FONTS, fetch

SIDE = 160
"""Pixels of the square that holds a picture; the picture's own size is beside it."""
_SEED = 7

KINDS: Mapping[str, Callable[[random.Random, Sequence[Path]], Drawn]] = {
    "bar chart": charts.bar_chart,
    "line chart": charts.line_chart,
    "pie chart": charts.pie_chart,
    "scatter plot": charts.scatter_plot,
    "heat map": charts.heat_map,
    "table": documents.table,
    "map": scenery.map_of_something,
    "flow chart": charts.flow_chart,
    "receipt": documents.receipt,
    "page of text": documents.page_of_text,
    "screenshot": documents.screenshot,
    "photograph": scenery.photograph,
}


@dataclass(frozen=True, slots=True)
class Document:
    """What one drawn picture is."""

    kind: str
    captions: tuple[str, ...]
    """True of it, the kind itself first."""
    width: int
    height: int
    """Pixels, from the square's upper left corner."""


@dataclass(frozen=True, slots=True)
class Documents:
    """Drawn pictures, kind by kind."""

    items: Sequence[Document]
    pixels: NDArray[np.uint8]
    """RGB, shape (items, SIDE, SIDE, 3)."""


def draw_kinds(each: int, folder: Path, progress: Progress) -> Documents:
    """Return `each` pictures of every kind, drawn unless the folder holds them."""
    index, store = folder / "documents.json", folder / "documents.npy"
    if not index.exists():
        fonts = [font for package in FONTS for font in sorted(fetch(package, folder / "npm").rglob("*.ttf"))]
        pixels = np.zeros((each * len(KINDS), SIDE, SIDE, 3), np.uint8)
        items = []
        for place in range(len(pixels)):
            kind = list(KINDS)[place // each]
            picture, captions = KINDS[kind](random.Random(f"{_SEED} {place}"), fonts)
            picture.thumbnail((SIDE, SIDE))
            pixels[place, : picture.height, : picture.width] = np.asarray(picture)
            items.append({"kind": kind, "captions": captions, "width": picture.width, "height": picture.height})
            progress.step("draw documents", place + 1, len(pixels), kind)
        np.save(store, pixels)
        index.write_text(json.dumps(items), "utf-8")
    found = json.loads(index.read_text("utf-8"))
    documents_ = [Document(**{**one, "captions": tuple(one["captions"])}) for one in found]
    return Documents(documents_, np.load(store, mmap_mode="r"))
