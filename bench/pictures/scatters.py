"""Scatter plots by matplotlib: clouds, groups, bubbles, fitted lines, named points."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from numpy.random import Generator

from bench.pictures.plot import Plot


def cloud(
    axes: Axes,
    chance: Generator,
    title: str,
    labels: tuple[str, str],
    points: int = 80,
    slope: float = 0.7,
    fitted: bool = False,
    marker: str = "o",
    size: float = 30,
    alpha: float = 1,
    color: str | None = None,
    logarithmic: bool = False,
) -> None:
    """Two values that go together, with the straight line through them where asked."""
    x = chance.normal(50, 12, points)
    y = slope * x + chance.normal(0, 8, points) + 15
    if logarithmic:
        x, y = np.exp(x / 9), np.exp(y / 9)
        axes.set(xscale="log", yscale="log")
    axes.scatter(x, y, s=size, marker=marker, alpha=alpha, color=color)
    if fitted:
        ends = np.array([x.min(), x.max()])
        axes.plot(ends, np.polyval(np.polyfit(x, y, 1), ends), color="tab:red", label="fit")
        axes.legend()
    axes.set(title=title, xlabel=labels[0], ylabel=labels[1])


def groups(
    axes: Axes,
    chance: Generator,
    title: str,
    names: Sequence[str],
    points: int = 40,
    markers: str = "o",
    legend: bool = True,
) -> None:
    """One cloud for each name, in its own colour and mark."""
    for number, name in enumerate(names):
        at = chance.uniform(-6, 6, 2) + np.array([4 * number, 3 * (number % 2)])
        x, y = chance.normal(at[0], 1.3, points), chance.normal(at[1], 1.1, points)
        axes.scatter(x, y, marker=markers[number % len(markers)], label=name, alpha=0.8)
    axes.set_title(title)
    if legend:
        axes.legend()


def bubbles(axes: Axes, chance: Generator, title: str, labels: tuple[str, str], points: int, colors: str) -> None:
    """Size and colour carry two more values."""
    x, y = chance.uniform(0, 100, points), chance.uniform(0, 100, points)
    axes.scatter(x, y, s=chance.uniform(20, 1100, points), c=chance.uniform(0, 1, points), cmap=colors, alpha=0.55)
    axes.set(title=title, xlabel=labels[0], ylabel=labels[1])


def shaded(axes: Axes, chance: Generator, title: str, labels: tuple[str, str], colors: str, bar: str) -> None:
    """A third value as colour, read off a colour bar."""
    x = chance.normal(0, 1, 150)
    y = x**2 + chance.normal(0, 0.8, 150)
    marks = axes.scatter(x, y, c=y - x, cmap=colors, s=35)
    axes.figure.colorbar(marks, ax=axes, label=bar)
    axes.set(title=title, xlabel=labels[0], ylabel=labels[1])


def named(axes: Axes, chance: Generator, title: str, labels: tuple[str, str], names: Sequence[str]) -> None:
    """Few points, each with its name."""
    x = np.linspace(10, 90, len(names)) + chance.uniform(-4, 4, len(names))
    y = chance.permutation(np.linspace(20, 80, len(names)))
    axes.scatter(x, y, s=60, zorder=3)
    for place_x, place_y, name in zip(x, y, names, strict=True):
        axes.annotate(name, (place_x, place_y), xytext=(6, 5), textcoords="offset points")
    axes.set(title=title, xlabel=labels[0], ylabel=labels[1], xlim=(0, 110))


def strips(axes: Axes, chance: Generator, title: str, names: Sequence[str], ylabel: str) -> None:
    """Single measurements by category, shaken apart."""
    for number, name in enumerate(names):
        values = chance.normal(20 + 6 * number, 4, 45)
        axes.scatter(number + chance.uniform(-0.18, 0.18, 45), values, alpha=0.6, label=name)
    axes.set_xticks(range(len(names)), names)
    axes.set(title=title, ylabel=ylabel)


SPECIES = ("setosa", "versicolor", "virginica")
COUNTRIES = ("Chile", "Kenya", "Japan", "Norway", "Egypt", "Canada", "Poland", "Vietnam")

PLOTS = (
    Plot(partial(cloud, title="Height and weight", labels=("height", "weight"))),
    Plot(partial(groups, title="Iris", names=SPECIES), "ggplot"),
    Plot(
        partial(bubbles, title="Cities compared", labels=("rent", "wages"), points=35, colors="viridis"),
        "seaborn-v0_8",
        (7, 5),
    ),
    Plot(partial(cloud, title="Linear fit", labels=("dose", "effect"), fitted=True, points=45), "classic"),
    Plot(
        partial(shaded, title="Temperature of stars", labels=("x", "y"), colors="plasma", bar="K"),
        "dark_background",
        (6.5, 5),
    ),
    Plot(
        partial(named, title="Spending and results", labels=("spending", "score"), names=COUNTRIES),
        "fivethirtyeight",
        (7.5, 5.5),
    ),
    Plot(
        partial(groups, title="Clusters", names=("a", "b", "c", "d"), markers="os^D", points=25), "grayscale", (5.5, 5)
    ),
    Plot(
        partial(cloud, title="Latency against load", labels=("req/s", "ms"), points=1500, size=6, alpha=0.4),
        "seaborn-v0_8-whitegrid",
        (7, 4.5),
    ),
    Plot(partial(strips, title="Reaction time", names=("placebo", "10 mg", "20 mg"), ylabel="ms"), "bmh", (5, 5)),
    Plot(
        partial(cloud, title="Body and brain mass", labels=("kg", "g"), logarithmic=True, marker="^", color="teal"),
        font="Liberation Sans",
    ),
    Plot(
        partial(cloud, title="Preis und Fläche", labels=("m²", "Tausend €"), fitted=True, color="#4472c4"),
        "seaborn-v0_8-ticks",
        (7, 4.5),
        "Carlito",
    ),
    Plot(
        partial(bubbles, title="Startups", labels=("age", "funding"), points=14, colors="Set1"),
        inches=(5, 5),
        font="Lato",
    ),
    Plot(
        partial(groups, title="t-SNE of embeddings", names=tuple("0123456789"), points=60, legend=False),
        inches=(5.5, 5.5),
    ),
    Plot(
        partial(cloud, title="Residuals", labels=("fitted", "residual"), slope=0, marker="x", color="black"),
        "default",
        (8, 4),
    ),
    Plot(
        partial(shaded, title="Ozone", labels=("wind", "ozone"), colors="coolwarm", bar="temperature"),
        "seaborn-v0_8-darkgrid",
    ),
    Plot(
        partial(groups, title="Players", names=("defence", "midfield", "attack", "keepers"), points=18, markers="o*sP"),
        "Solarize_Light2",
        (6.5, 5),
    ),
)
