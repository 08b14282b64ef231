"""Heat maps by matplotlib: correlations, confusions, hours by days, large matrices, smooth fields."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.random import Generator
from numpy.typing import NDArray

from bench.pictures.bars import MONTHS
from bench.pictures.plot import Plot

Matrix = NDArray[np.floating[Any]]


def correlation(chance: Generator, rows: int, columns: int) -> Matrix:
    """Return a correlation matrix of as many random series as there are rows."""
    base = chance.normal(size=(columns, 3)) @ chance.normal(size=(3, 60))
    related: Matrix = np.corrcoef(base + chance.normal(size=(rows, 60)))
    return related


def confusion(chance: Generator, rows: int, columns: int) -> Matrix:
    """Return counts, high on the diagonal."""
    return np.round(chance.exponential(5, (rows, columns)) + np.diag(chance.uniform(60, 98, rows)))


def rhythm(chance: Generator, rows: int, columns: int) -> Matrix:
    """Return values that rise and fall along the columns, a little differently in each row."""
    wave = np.sin(np.linspace(-1.4, 4.4, columns)) + 1.2
    return 40 * wave * chance.uniform(0.5, 1, (rows, 1)) + chance.uniform(0, 14, (rows, columns))


def noise(chance: Generator, rows: int, columns: int) -> Matrix:
    """Return blocks of like rows and columns, as after clustering."""
    coarse = chance.normal(size=(5, 4))
    blocks = np.kron(coarse, np.ones((-(-rows // 5), -(-columns // 4))))
    return blocks[:rows, :columns] + chance.normal(0, 0.6, (rows, columns))


def field(chance: Generator, rows: int, columns: int) -> Matrix:
    """Return hills on a plane."""
    y, x = np.mgrid[0 : 1 : rows * 1j, 0 : 1 : columns * 1j]
    hills = [(x - cx) ** 2 + (y - cy) ** 2 for cx, cy in chance.uniform(0, 1, (5, 2))]
    height: Matrix = np.sum([np.exp(-hill / 0.03) for hill in hills], axis=0)
    return height


def heat(
    axes: Axes,
    chance: Generator,
    title: str,
    make: partial[Matrix],
    colors: str,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    written: str = "",
    bar: bool = True,
    lines: bool = False,
    half: bool = False,
    axis_names: tuple[str, str] = ("", ""),
) -> None:
    """One matrix as colours.

    Args:
        make: called with `chance`, returns the matrix.
        written: format of the number in each cell, "" for none.
        lines: white lines between the cells.
        half: leave out what stands above the diagonal.
    """
    values = np.asarray(make(chance))
    if half:
        values = np.where(np.tri(len(values), dtype=bool), values, np.nan)
    picture = axes.imshow(values, cmap=colors, aspect="auto", interpolation="nearest")
    axes.grid(visible=False)
    if bar:
        axes.figure.colorbar(picture, ax=axes)
    if rows:
        axes.set_yticks(range(len(rows)), rows)
    if columns:
        axes.set_xticks(range(len(columns)), columns, rotation=45 if max(map(len, columns)) > 3 else 0)
    if lines:
        _lines(axes, values.shape)
    if written:
        _numbers(axes, values, written)
    axes.set(title=title, xlabel=axis_names[0], ylabel=axis_names[1])


def _lines(axes: Axes, shape: tuple[int, ...]) -> None:
    axes.set_xticks(np.arange(shape[1] + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(shape[0] + 1) - 0.5, minor=True)
    axes.grid(visible=True, which="minor", color="white", linestyle="-", linewidth=2)
    axes.tick_params(which="both", length=0)


def _numbers(axes: Axes, values: Matrix, form: str) -> None:
    (image,) = axes.images
    for (row, column), value in np.ndenumerate(values):
        if np.isnan(value):
            continue
        red, green, blue, _ = image.to_rgba(value)
        shade = "black" if 0.3 * red + 0.6 * green + 0.1 * blue > 0.5 else "white"
        axes.text(column, row, form.format(value), ha="center", va="center", color=shade)


DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
HOURS = tuple(str(hour) if hour % 4 == 0 else "" for hour in range(24))
WINE = ("acid", "sugar", "sulphate", "alcohol", "density", "pH", "quality")
ANIMALS = ("cat", "dog", "fox", "owl", "bee")
DIGITS = tuple("0123456789")
YEARS = tuple(str(year) for year in range(2016, 2026))
GENES = tuple(f"GENE{number}" for number in range(1, 21))

PLOTS = (
    Plot(
        partial(
            heat,
            title="Correlation",
            make=partial(correlation, rows=7, columns=7),
            colors="coolwarm",
            rows=WINE,
            columns=WINE,
            written="{:.1f}",
        )
    ),
    Plot(
        partial(
            heat,
            title="Confusion matrix",
            make=partial(confusion, rows=5, columns=5),
            colors="Blues",
            rows=ANIMALS,
            columns=ANIMALS,
            written="{:.0f}",
            axis_names=("predicted", "true"),
        ),
        inches=(5.5, 5),
    ),
    Plot(
        partial(
            heat,
            title="Calls by hour",
            make=partial(rhythm, rows=7, columns=24),
            colors="YlOrRd",
            rows=DAYS,
            columns=HOURS,
            lines=True,
        ),
        inches=(8, 3.6),
    ),
    Plot(
        partial(heat, title="Expression", make=partial(noise, rows=20, columns=16), colors="RdBu_r", rows=GENES),
        inches=(5, 6),
        font="Liberation Sans",
    ),
    Plot(
        partial(
            heat,
            title="Temperature field",
            make=partial(field, rows=60, columns=80),
            colors="inferno",
            axis_names=("x [m]", "y [m]"),
        ),
        "classic",
    ),
    Plot(
        partial(
            heat,
            title="Passengers",
            make=partial(rhythm, rows=10, columns=12),
            colors="viridis",
            rows=YEARS,
            columns=MONTHS,
        ),
        "ggplot",
        (7, 5),
    ),
    Plot(
        partial(
            heat, title="Activity", make=partial(rhythm, rows=7, columns=24), colors="magma", rows=DAYS, columns=HOURS
        ),
        "dark_background",
        (8, 4),
    ),
    Plot(
        partial(
            heat,
            title="Correlation of returns",
            make=partial(correlation, rows=6, columns=6),
            colors="RdYlGn",
            rows=("AAA", "BBB", "CCC", "DDD", "EEE", "FFF"),
            columns=("AAA", "BBB", "CCC", "DDD", "EEE", "FFF"),
            written="{:.2f}",
            half=True,
        ),
        inches=(6, 5.5),
        font="Carlito",
    ),
    Plot(
        partial(
            heat,
            title="Digits, confusion",
            make=partial(confusion, rows=10, columns=10),
            colors="Greens",
            rows=DIGITS,
            columns=DIGITS,
            bar=False,
            axis_names=("predicted", "actual"),
        ),
        "seaborn-v0_8",
        (5, 5),
    ),
    Plot(
        partial(
            heat,
            title="Attention weights",
            make=partial(confusion, rows=8, columns=8),
            colors="Purples",
            rows=("the", "black", "cat", "sat", "on", "a", "mat", "."),
            columns=("the", "black", "cat", "sat", "on", "a", "mat", "."),
        ),
        inches=(5.5, 5),
        font="Roboto",
    ),
    Plot(
        partial(heat, title="Distance matrix", make=partial(noise, rows=40, columns=40), colors="gray"),
        "grayscale",
        (6, 5),
    ),
    Plot(
        partial(
            heat,
            title="Auslastung in %",
            make=partial(rhythm, rows=5, columns=12),
            colors="OrRd",
            rows=("Halle 1", "Halle 2", "Halle 3", "Halle 4", "Halle 5"),
            columns=MONTHS,
            written="{:.0f}",
            lines=True,
            bar=False,
        ),
        inches=(8.5, 4),
    ),
    Plot(
        partial(heat, title="Vegetation index", make=partial(field, rows=40, columns=40), colors="YlGn"),
        "seaborn-v0_8-white",
        (6, 5),
    ),
    Plot(
        partial(heat, title="Sleep by night", make=partial(rhythm, rows=14, columns=10), colors="PuBuGn", lines=True),
        "bmh",
        (5, 6),
    ),
    Plot(
        partial(
            heat,
            title="Grid search: accuracy",
            make=partial(rhythm, rows=6, columns=6),
            colors="cividis",
            rows=("1e-1", "1e-2", "1e-3", "1e-4", "1e-5", "1e-6"),
            columns=("8", "16", "32", "64", "128", "256"),
            written="{:.0f}",
            axis_names=("batch", "rate"),
        ),
        "fivethirtyeight",
        (7, 5.5),
    ),
    Plot(
        partial(
            heat,
            title="Sensor readings",
            make=partial(noise, rows=25, columns=60),
            colors="turbo",
            axis_names=("second", "sensor"),
        ),
        "Solarize_Light2",
        (8, 4.5),
    ),
)
