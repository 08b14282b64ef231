"""Bar charts by matplotlib: upright, grouped, stacked, sideways, signed."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from numpy.random import Generator

from bench.pictures.plot import Plot

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def upright(
    axes: Axes,
    chance: Generator,
    title: str,
    names: Sequence[str],
    ylabel: str = "",
    color: str | Sequence[str] | None = None,
    written: bool = False,
    errors: bool = False,
    slant: int = 0,
    top: int = 100,
) -> None:
    """One bar a name, with its value or an error bar where asked."""
    values = (
        np.sort(chance.integers(top // 5, top, len(names)))[::-1]
        if written
        else chance.uniform(top / 5, top, len(names))
    )
    spread = chance.uniform(top / 50, top / 12, len(names)) if errors else None
    bars = axes.bar(names, values, color=color, yerr=spread, capsize=4 if errors else 0)
    if written:
        axes.bar_label(bars, padding=2)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.set_yticks([])
    axes.set_title(title)
    axes.set_ylabel(ylabel)
    axes.tick_params(axis="x", rotation=slant)


def grouped(
    axes: Axes,
    chance: Generator,
    title: str,
    names: Sequence[str],
    series: Sequence[str],
    ylabel: str = "",
    sideways: bool = False,
    hatches: Sequence[str] = (),
) -> None:
    """Bars of several series side by side, with a legend."""
    places, thick = np.arange(len(names)), 0.8 / len(series)
    for number, label in enumerate(series):
        values = chance.uniform(15, 95, len(names))
        at = places + (number - (len(series) - 1) / 2) * thick
        hatch = hatches[number] if hatches else None
        if sideways:
            axes.barh(at, values, thick, label=label, hatch=hatch)
        else:
            axes.bar(at, values, thick, label=label, hatch=hatch)
    (axes.set_yticks if sideways else axes.set_xticks)(places, names)
    (axes.set_xlabel if sideways else axes.set_ylabel)(ylabel)
    axes.set_title(title)
    axes.legend()


def stacked(
    axes: Axes,
    chance: Generator,
    title: str,
    names: Sequence[str],
    series: Sequence[str],
    sideways: bool = False,
    in_full: bool = False,
    colors: Sequence[str] = (),
) -> None:
    """Bars on top of each other; `in_full` makes every bar 100 per cent."""
    values = chance.uniform(8, 40, (len(series), len(names)))
    if in_full:
        values = 100 * values / values.sum(axis=0)
    base = np.zeros(len(names))
    for number, label in enumerate(series):
        color = colors[number] if colors else None
        if sideways:
            axes.barh(names, values[number], left=base, label=label, color=color)
        else:
            axes.bar(names, values[number], bottom=base, label=label, color=color, width=0.7)
        base += values[number]
    axes.set_title(title)
    axes.figure.legend(loc="outside lower center", ncols=min(5, len(series)))


def sideways(axes: Axes, chance: Generator, title: str, names: Sequence[str], xlabel: str, marked: int = -1) -> None:
    """Sorted bars from left to right; the bar `marked` stands out in colour."""
    values = np.sort(chance.uniform(10, 100, len(names)))
    colors = ["#b8c4ce"] * len(names)
    if marked >= 0:
        colors[marked] = "#d1495b"
    axes.barh(names, values, color=colors if marked >= 0 else None)
    axes.set_title(title, loc="left")
    axes.set_xlabel(xlabel)


def signed(axes: Axes, chance: Generator, title: str, names: Sequence[str], ylabel: str) -> None:
    """Gains up in green, losses down in red."""
    values = chance.uniform(-9, 12, len(names))
    axes.bar(names, values, color=["#2a9d4a" if value > 0 else "#c0392b" for value in values])
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_title(title)
    axes.set_ylabel(ylabel)


QUARTERS = ("Q1", "Q2", "Q3", "Q4")
REGIONS = ("North", "South", "East", "West")
FRUIT = ("Apples", "Pears", "Plums", "Cherries", "Figs")
CITIES = ("Oslo", "Lima", "Cairo", "Porto", "Delhi", "Quito", "Seoul", "Perth")
ANSWERS = ("Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree")
LIKERT = ("#c44e52", "#e9a6a1", "#dddddd", "#9ecae1", "#3182bd")
DAYS = tuple(str(day) for day in range(1, 31))
LANGUAGES = ("Python", "Java", "Go", "Rust", "Kotlin", "Ruby")

PLOTS = (
    Plot(partial(upright, title="Sales by region", names=REGIONS, ylabel="thousand euros")),
    Plot(
        partial(grouped, title="Visitors", names=QUARTERS, series=("2023", "2024", "2025"), ylabel="thousands"),
        "ggplot",
    ),
    Plot(
        partial(stacked, title="Energy mix", names=MONTHS, series=("Wind", "Solar", "Hydro", "Gas")),
        "seaborn-v0_8",
        (8, 4.5),
    ),
    Plot(
        partial(sideways, title="Favourite languages", names=LANGUAGES, xlabel="% of answers"),
        "fivethirtyeight",
        (7, 5),
    ),
    Plot(
        partial(grouped, title="Requests per second", names=REGIONS, series=("before", "after"), ylabel="req/s"),
        "dark_background",
    ),
    Plot(partial(upright, title="Mean height", names=("A", "B", "C", "D", "E"), ylabel="cm", errors=True), "classic"),
    Plot(
        partial(
            grouped, title="Yield", names=FRUIT, series=("field 1", "field 2"), hatches=("//", ".."), ylabel="t/ha"
        ),
        "grayscale",
        (6, 4.5),
    ),
    Plot(
        partial(
            stacked,
            title="How satisfied are you?",
            names=("Price", "Service", "Delivery", "Quality"),
            series=ANSWERS,
            sideways=True,
            in_full=True,
            colors=LIKERT,
        ),
        inches=(8.5, 4),
        font="Liberation Sans",
    ),
    Plot(
        partial(upright, title="Tickets closed this week", names=CITIES, written=True, color="#4472c4"),
        inches=(7.5, 4.5),
        font="Carlito",
    ),
    Plot(partial(signed, title="Profit and loss", names=MONTHS, ylabel="million $"), "bmh", (7, 4.5)),
    Plot(
        partial(upright, title="Rain in June", names=DAYS, ylabel="mm", color="steelblue", top=30, slant=90),
        "seaborn-v0_8-whitegrid",
        (9, 3.6),
    ),
    Plot(
        partial(stacked, title="Budget", names=("2024", "2025"), series=("Rent", "Staff", "Travel", "Other")),
        "seaborn-v0_8-pastel",
        (4, 6),
    ),
    Plot(
        partial(sideways, title="Commute time by city", names=CITIES, xlabel="minutes", marked=5),
        inches=(6, 5.5),
        font="Lato",
    ),
    Plot(
        partial(
            grouped,
            title="Exam results",
            names=("Maths", "Physics", "History"),
            series=("girls", "boys"),
            sideways=True,
        ),
        "seaborn-v0_8-darkgrid",
        (6.4, 5),
    ),
    Plot(
        partial(upright, title="Bestand im Lager", names=FRUIT, ylabel="Kisten", slant=30, top=800), "Solarize_Light2"
    ),
    Plot(
        partial(
            upright,
            title="Downloads",
            names=("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
            color=["#7b2cbf", "#9d4edd", "#c77dff", "#e0aaff", "#c77dff", "#9d4edd", "#7b2cbf"],
            top=5000,
        ),
        inches=(5, 5),
        font="Roboto",
    ),
)
