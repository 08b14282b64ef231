"""Read the TopoJSON of the npm packages world-atlas and us-atlas.

Source:
    The TopoJSON format specification, version 1: delta-coded arcs, `transform`, and `~index` for an arc run backwards.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ring = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Region:
    """A country, a state or a county."""

    name: str
    code: str
    rings: tuple[Ring, ...]
    """Outer rings, each of shape (points, 2): degrees of longitude and latitude, or what the file is projected to."""

    @property
    def centre(self) -> tuple[float, float]:
        """The middle of the ring with the most points."""
        ring = max(self.rings, key=len)
        low, high = ring.min(axis=0), ring.max(axis=0)
        return float(low[0] + high[0]) / 2, float(low[1] + high[1]) / 2


def regions(file: Path, layer: str) -> list[Region]:
    """Return the regions of one layer (`countries`, `states`, `counties`)."""
    topology = json.loads(file.read_text(encoding="utf-8"))
    arcs = [_arc(arc, topology.get("transform")) for arc in topology["arcs"]]
    return [_region(shape, arcs) for shape in topology["objects"][layer]["geometries"] if shape["type"]]


def unbroken(ring: Ring) -> Ring:
    """Return degrees without the jump at 180; the ring may reach a little beyond it."""
    longitude = np.unwrap(ring[:, 0], period=360)
    return np.column_stack((longitude - 360 * np.round(longitude.mean() / 360), ring[:, 1]))


def _arc(points: list[list[float]], transform: dict[str, list[float]] | None) -> Ring:
    if transform is None:
        return np.asarray(points, dtype=float)
    return np.cumsum(points, axis=0) * transform["scale"] + transform["translate"]


def _region(shape: dict[str, Any], arcs: list[Ring]) -> Region:
    polygons = [shape["arcs"]] if shape["type"] == "Polygon" else shape["arcs"]
    rings = tuple(_ring(polygon[0], arcs) for polygon in polygons)
    return Region(shape.get("properties", {}).get("name", ""), str(shape.get("id", "")), rings)


def _ring(indices: list[int], arcs: list[Ring]) -> Ring:
    return np.concatenate([arcs[index] if index >= 0 else arcs[~index][::-1] for index in indices])
