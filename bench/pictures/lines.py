"""Line charts by matplotlib: one line or several, dated, stepped, banded, on a logarithmic axis."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from numpy.random import Generator
from numpy.typing import NDArray

from bench.pictures.bars import MONTHS
from bench.pictures.plot import Plot


def several(
    axes: Axes,
    chance: Generator,
    title: str,
    series: Sequence[str],
    names: Sequence[str] = MONTHS,
    ylabel: str = "",
    marker: str = "",
    dashes: Sequence[str] = ("-",),
    grid: bool = False,
) -> None:
    """A line for each of the series over named points, with a legend."""
    for number, label in enumerate(series):
        values = 20 + 15 * number + np.cumsum(chance.normal(1, 4, len(names)))
        axes.plot(names, values, marker=marker, linestyle=dashes[number % len(dashes)], label=label)
    axes.set_title(title)
    axes.set_ylabel(ylabel)
    if grid:
        axes.grid(visible=True)
    if len(series) > 1:
        axes.legend()


def walk(axes: Axes, chance: Generator, title: str, days: int = 250, fill: bool = False, color: str = "C0") -> None:
    """A price by day, with the days as dates."""
    dates = np.datetime64("2025-01-02") + np.arange(days)
    values = 100 * np.exp(np.cumsum(chance.normal(0.0006, 0.013, days)))
    axes.plot(dates, values, color=color, linewidth=1.3)
    if fill:
        axes.fill_between(dates, values, values.min() * 0.97, color=color, alpha=0.25)
        axes.set_ylim(bottom=values.min() * 0.97)
    axes.set_title(title, loc="left")
    axes.tick_params(axis="x", rotation=30)


def wave(axes: Axes, chance: Generator, title: str) -> None:
    """Sine and cosine, as in a textbook."""
    x = np.linspace(0, 4 * np.pi, 300)
    shift = chance.uniform(0, 1)
    axes.plot(x, np.sin(x + shift), "b-", label="sin")
    axes.plot(x, np.cos(x + shift), "r--", label="cos")
    axes.set(title=title, xlabel="t [s]", ylabel="amplitude")
    axes.legend()
    axes.grid(visible=True)


def learning(axes: Axes, chance: Generator, title: str) -> None:
    """Two losses that fall, one of them noisy."""
    steps = np.arange(120)
    for label, floor, noise in (("train", 0.2, 0.03), ("validation", 0.45, 0.05)):
        axes.plot(steps, floor + 2 * np.exp(-steps / 22) + chance.normal(0, noise, 120), label=label)
    axes.set(title=title, xlabel="epoch", ylabel="loss")
    axes.legend()


def band(axes: Axes, chance: Generator, title: str, ylabel: str) -> None:
    """A mean with the band of its uncertainty, for two groups."""
    x = np.linspace(0, 24, 49)
    for label, height, color in (("control", 5.0, "tab:gray"), ("treated", 8.0, "tab:orange")):
        mean: NDArray[np.float64] = height * (1 - np.exp(-x / 6)) + chance.normal(0, 0.15, 49)
        axes.plot(x, mean, color=color, label=label)
        axes.fill_between(x, mean - 0.9, mean + 0.9, color=color, alpha=0.2, linewidth=0)
    axes.set(title=title, xlabel="hours", ylabel=ylabel)
    axes.legend(loc="upper left")


def growth(axes: Axes, chance: Generator, title: str) -> None:
    """Exponential growth on a logarithmic axis."""
    years = np.arange(1990, 2026)
    for label in ("Country A", "Country B", "Country C"):
        axes.semilogy(years, chance.uniform(1, 9) * np.exp(chance.uniform(0.05, 0.2) * (years - 1990)), label=label)
    axes.set(title=title, ylabel="log scale")
    axes.grid(visible=True, which="both", alpha=0.4)
    axes.legend()


def steps(axes: Axes, chance: Generator, title: str, ylabel: str) -> None:
    """A value that jumps."""
    axes.step(np.arange(24), np.round(chance.uniform(1, 6, 24)), where="post", linewidth=2.2)
    axes.set(title=title, xlabel="hour of day", ylabel=ylabel)


def labelled(axes: Axes, chance: Generator, title: str, series: Sequence[str]) -> None:
    """Lines named at their right end, no frame, as newspapers print them."""
    years = np.arange(2010, 2026)
    for number, label in enumerate(series):
        values = 30 + 12 * number + np.cumsum(chance.normal(0.4, 2, len(years)))
        (line,) = axes.plot(years, values, linewidth=2.6)
        axes.text(2025.3, values[-1], label, color=line.get_color(), va="center", weight="bold")
    axes.set_title(title, loc="left", weight="bold")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set(xlim=(2010, 2029), xticks=(2010, 2015, 2020, 2025))


WEEK = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
YEARS = tuple(str(year) for year in range(2015, 2026))

PLOTS = (
    Plot(partial(several, title="Club members", series=("",), ylabel="members", marker="o")),
    Plot(
        partial(several, title="Active users", series=("web", "mobile", "tablet"), ylabel="thousands"),
        "ggplot",
        (7, 4.5),
    ),
    Plot(partial(walk, title="ACME Corp. share price"), "seaborn-v0_8", (8, 4.5)),
    Plot(partial(wave, title="Oscillation"), "classic"),
    Plot(partial(learning, title="Training curve"), "seaborn-v0_8-darkgrid"),
    Plot(partial(band, title="Response over time", ylabel="mg/l"), font="Liberation Sans"),
    Plot(partial(growth, title="Output per head"), "bmh", (6, 5)),
    Plot(partial(steps, title="Servers in use", ylabel="servers"), "dark_background", (8, 4)),
    Plot(
        partial(labelled, title="Share of renewables, %", series=("Spain", "Italy", "Poland", "Norway")),
        "fivethirtyeight",
        (7.5, 5),
    ),
    Plot(
        partial(
            several,
            title="Participation",
            series=("men", "women", "total"),
            names=YEARS,
            dashes=("-", "--", ":"),
            marker="s",
            ylabel="%",
        ),
        "grayscale",
    ),
    Plot(partial(walk, title="Share index", days=90, fill=True, color="#1e88e5"), inches=(8, 3.6), font="Roboto"),
    Plot(
        partial(
            several, title="Steps per day", series=("steps",), ylabel="hundreds", names=WEEK, marker="D", grid=True
        ),
        "seaborn-v0_8-pastel",
        (4.5, 4.5),
    ),
    Plot(
        partial(several, title="Umsatz", series=("Nord", "Süd", "Ost", "West", "Mitte"), ylabel="Mio. €", marker="."),
        "seaborn-v0_8-whitegrid",
        (8, 5),
        "Carlito",
    ),
    Plot(partial(walk, title="Water level, cm", days=400, color="crimson"), "seaborn-v0_8-ticks", (9, 3.2)),
    Plot(
        partial(several, title="Rainfall compared", series=("2024", "2025"), ylabel="mm", dashes=("-", "-.")),
        "Solarize_Light2",
    ),
    Plot(
        partial(
            several, title="Page views", series=tuple("abcdefgh"), names=tuple(map(str, range(1, 31))), ylabel="views"
        ),
        "seaborn-v0_8-talk",
        (9, 7),
    ),
)
