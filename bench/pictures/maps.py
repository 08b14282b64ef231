"""Maps of countries by matplotlib, from the outlines of world-atlas and us-atlas."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from numpy.random import Generator

from bench.pictures.atlas import Region, Ring, regions, unbroken
from bench.pictures.plot import Plot

Box = tuple[float, float, float, float]
"""West, south, east, north, in degrees."""


def equal_earth(ring: Ring) -> Ring:
    """Project degrees; returns about 5.4 wide and 2.6 high for the whole world.

    Source:
        Šavrič, Patterson and Jenny, The Equal Earth map projection, 2018.
    """
    a1, a2, a3, a4 = 1.340264, -0.081106, 0.000893, 0.003796
    longitude, latitude = np.radians(unbroken(ring)).T
    slant = np.arcsin(np.sqrt(3) / 2 * np.sin(latitude))
    squared = slant**2
    slope = a1 + 3 * a2 * squared + squared**3 * (7 * a3 + 9 * a4 * squared)
    height = slant * (a1 + a2 * squared + squared**3 * (a3 + a4 * squared))
    return np.column_stack((2 / np.sqrt(3) * longitude * np.cos(slant) / slope, height))


def shapes(
    axes: Axes,
    parts: Sequence[Region],
    colors: Sequence[object],
    edge: str = "white",
    width: float = 0.6,
    project: Callable[[Ring], Ring] = np.asarray,
) -> None:
    """Fill every region with its colour."""
    rings = [project(ring) for part in parts for ring in part.rings]
    fill = [color for part, color in zip(parts, colors, strict=True) for _ in part.rings]
    axes.add_collection(PolyCollection(rings, facecolors=fill, edgecolors=edge, linewidths=width))
    axes.autoscale_view()
    axes.set_aspect("equal")
    axes.set(xticks=[], yticks=[])


def frame(axes: Axes, box: Box, sea: str) -> None:
    """Show only the box, on the sea's colour, with degrees as wide as they are at its middle."""
    west, south, east, north = box
    axes.set(xlim=(west, east), ylim=(south, north), facecolor=sea)
    axes.set_aspect(1 / np.cos(np.radians((south + north) / 2)))


def shades(chance: Generator, count: int, colors: str, steps: int = 6) -> list[object]:
    """Return one of so many steps of a colour map for each region."""
    return list(colormaps[colors](chance.integers(0, steps, count) / (steps - 1) * 0.85 + 0.08))


def world(
    axes: Axes,
    chance: Generator,
    atlas: Path,
    title: str,
    colors: str,
    bar: str = "",
    sea: str = "white",
    edge: str = "white",
) -> None:
    """The whole world; `bar` names the colour bar of a thematic map."""
    lands = [
        land for land in regions(atlas / "world-atlas/countries-110m.json", "countries") if land.name != "Antarctica"
    ]
    shapes(axes, lands, shades(chance, len(lands), colors), edge, 0.4, equal_earth)
    axes.set(facecolor=sea, title=title, xlim=(-2.85, 2.9), ylim=(-1.12, 1.36))
    if bar:
        axes.figure.colorbar(ScalarMappable(cmap=colors), ax=axes, orientation="horizontal", shrink=0.5, label=bar)


def part(
    axes: Axes,
    chance: Generator,
    atlas: Path,
    box: Box,
    title: str = "",
    colors: str = "Pastel1",
    sea: str = "#cfe6f5",
    edge: str = "#666666",
    named: Sequence[str] = (),
    marked: str = "",
    cities: Sequence[tuple[str, float, float]] = (),
) -> None:
    """A part of the world, with names of countries, one country marked, or cities."""
    lands = regions(atlas / "world-atlas/countries-50m.json", "countries")
    fill = shades(chance, len(lands), colors)
    if marked:
        fill = ["#e07a2f" if land.name == marked else "#e6e2d8" for land in lands]
    shapes(axes, lands, fill, edge, 0.7, unbroken)
    frame(axes, box, sea)
    for land in lands:
        if land.name in named:
            axes.text(*land.centre, land.name, ha="center", va="center", fontsize=8, clip_on=True)
    for name, longitude, latitude in cities:
        axes.plot(longitude, latitude, "o", color="#8b0000", markersize=5)
        axes.annotate(name, (longitude, latitude), xytext=(5, 3), textcoords="offset points", fontsize=10)
    axes.set_title(title)


def states(
    axes: Axes, chance: Generator, atlas: Path, title: str, colors: str, steps: int = 6, edge: str = "white"
) -> None:
    """The states of the USA, in the file's own Albers projection."""
    parts = regions(atlas / "us-atlas/states-albers-10m.json", "states")
    shapes(axes, parts, shades(chance, len(parts), colors, steps), edge)
    axes.invert_yaxis()
    axes.set_frame_on(False)
    axes.set_title(title)


def counties(axes: Axes, chance: Generator, atlas: Path, title: str, state: str, colors: str) -> None:
    """The counties of one state, by its two digits."""
    parts = [county for county in regions(atlas / "us-atlas/counties-10m.json", "counties") if county.code[:2] == state]
    shapes(axes, parts, shades(chance, len(parts), colors), "black", 0.4)
    axes.set_aspect(1.2)
    axes.set_frame_on(False)
    axes.set_title(title)


def flights(axes: Axes, chance: Generator, atlas: Path, title: str) -> None:
    """A dark world with routes between cities."""
    world(axes, chance, atlas, title, "Greys", sea="#10182b", edge="#10182b")
    axes.collections[0].set_facecolor("#34446b")
    ends = np.concatenate([equal_earth(np.array([port])) for port in PORTS])
    for start in ends[:4]:
        for end in ends[3:]:
            middle = (start + end) / 2 + (0, 0.28)
            t = np.linspace(0, 1, 40)[:, None]
            axes.plot(*((1 - t) ** 2 * start + 2 * t * (1 - t) * middle + t**2 * end).T, color="#ffb347", linewidth=0.9)
    axes.scatter(*ends.T, s=24, color="white", zorder=3)


EUROPE = (
    "France",
    "Spain",
    "Germany",
    "Italy",
    "Poland",
    "Ukraine",
    "Sweden",
    "Romania",
    "Turkey",
    "United Kingdom",
    "Finland",
)
SOUTH = ("Brazil", "Argentina", "Peru", "Colombia", "Bolivia", "Venezuela", "Chile", "Paraguay", "Ecuador", "Uruguay")
PORTS = ((0, 51), (-74, 41), (139, 36), (77, 28), (-46, -23), (18, -34), (151, -34), (37, 55), (-99, 19))
ASIA = ("China", "India", "Mongolia", "Kazakhstan", "Indonesia", "Iran", "Pakistan", "Thailand", "Japan", "Myanmar")
JAPAN = (
    ("Tokyo", 139.7, 35.7),
    ("Osaka", 135.5, 34.7),
    ("Sapporo", 141.35, 43.1),
    ("Fukuoka", 130.4, 33.6),
    ("Sendai", 140.9, 38.3),
)
ITALY = (
    ("Roma", 12.5, 41.9),
    ("Milano", 9.2, 45.5),
    ("Napoli", 14.3, 40.85),
    ("Palermo", 13.4, 38.1),
    ("Torino", 7.7, 45.1),
)


def plots(atlas: Path) -> tuple[Plot, ...]:
    """Return the maps; `atlas` is the folder that holds world-atlas and us-atlas."""
    return (
        Plot(partial(world, atlas=atlas, title="", colors="Set3", sea="#d7ecf7", edge="#777777"), inches=(9, 4.5)),
        Plot(partial(world, atlas=atlas, title="Well-being by country", colors="YlGnBu", bar="index"), inches=(8, 5)),
        Plot(partial(part, atlas=atlas, box=(-11, 35, 40, 70), named=EUROPE), inches=(6, 6), font="Lato"),
        Plot(
            partial(
                part,
                atlas=atlas,
                box=(-20, -36, 53, 38),
                title="Access to water",
                colors="OrRd",
                sea="white",
                edge="white",
            ),
            inches=(5, 5.6),
        ),
        Plot(
            partial(part, atlas=atlas, box=(-84, -57, -33, 13), named=SOUTH, colors="Pastel2", sea="#a9cfe0"),
            inches=(4.6, 6),
            font="Liberation Serif",
        ),
        Plot(
            partial(part, atlas=atlas, box=(60, -12, 150, 55), named=ASIA, colors="Set2", sea="#eef5fb", title="Asia"),
            inches=(7, 5.6),
            font="Liberation Sans",
        ),
        Plot(
            partial(states, atlas=atlas, title="Election night", colors="coolwarm", steps=2),
            inches=(7, 4.6),
            font="Roboto",
        ),
        Plot(partial(part, atlas=atlas, box=(128, 30, 147, 46), marked="Japan", cities=JAPAN), inches=(5, 5.4)),
        Plot(
            partial(
                part,
                atlas=atlas,
                box=(5.5, 36, 19.5, 47.5),
                marked="Italy",
                cities=ITALY,
                sea="#eaf3f7",
                title="Italia",
            ),
            inches=(5, 5.5),
            font="Carlito",
        ),
        Plot(partial(flights, atlas=atlas, title="Routes"), "dark_background", (9, 4.8)),
        Plot(
            partial(counties, atlas=atlas, title="Population by county", state="48", colors="viridis"),
            inches=(5.5, 5.5),
        ),
    )
