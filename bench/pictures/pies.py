"""Pie charts by matplotlib: whole, exploded, ringed, with labels on, beside or under them."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from numpy.random import Generator

from bench.pictures.plot import Plot


def pie(
    axes: Axes,
    chance: Generator,
    title: str,
    names: Sequence[str],
    values: Sequence[float] = (),
    percent: str = "",
    pulled: int = -1,
    shadow: bool = False,
    hole: float = 0,
    middle: str = "",
    legend: bool = False,
    colors: str = "",
    start: float = 90,
) -> None:
    """One pie.

    Args:
        values: drawn by chance where left out.
        percent: format of the share written on each slice, "" for none.
        pulled: the slice that stands out, -1 for none.
        hole: share of the radius left empty, 0 for a whole pie.
        colors: the name of a colour map; the style's own colours where left out.
    """
    sizes = np.asarray(values) if values else np.sort(chance.uniform(5, 40, len(names)))[::-1]
    wedges, *_ = axes.pie(
        sizes,
        labels=None if legend else list(names),
        autopct=percent or None,
        pctdistance=0.6 if hole == 0 else 1 - hole / 2 + 0.05,
        explode=[0.12 if number == pulled else 0 for number in range(len(names))],
        shadow=shadow,
        startangle=start,
        counterclock=False,
        colors=colormaps[colors](np.linspace(0.15, 0.85, len(names))) if colors else None,
        wedgeprops={"width": 1 - hole, "edgecolor": "white"} if hole else {},
    )
    if middle:
        axes.text(0, 0, middle, ha="center", va="center", fontsize=17)
    if legend:
        axes.legend(wedges, names, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.set_title(title)


def rings(axes: Axes, chance: Generator, title: str, names: Sequence[str]) -> None:
    """Two rings; the outer one splits each slice of the inner one in two."""
    split = chance.uniform(10, 40, (len(names), 2))
    inner, outer = colormaps["tab20c"]([0, 4, 8]), colormaps["tab20c"]([1, 2, 5, 6, 9, 10])
    axes.pie(
        split.sum(axis=1), radius=0.7, colors=inner, labels=names, labeldistance=0.45, wedgeprops={"edgecolor": "w"}
    )
    axes.pie(split.ravel(), radius=1, colors=outer, wedgeprops={"width": 0.3, "edgecolor": "w"})
    axes.set_title(title)


SYSTEMS = ("Android", "iOS", "Windows", "macOS", "Linux")
SPENDING = ("Housing", "Food", "Transport", "Leisure", "Savings", "Health", "Other")
PARTIES = ("Greens", "Liberals", "Labour", "Centre", "Others")

PLOTS = (
    Plot(partial(pie, title="Operating systems", names=SYSTEMS, percent="%1.0f%%")),
    Plot(partial(pie, title="Household spending", names=SPENDING), "ggplot", (6, 5)),
    Plot(
        partial(
            pie,
            title="Favourite pets",
            names=("Dogs", "Hogs", "Cats", "Frogs"),
            pulled=1,
            shadow=True,
            percent="%1.1f%%",
        ),
        "classic",
        (5.5, 5),
    ),
    Plot(
        partial(
            pie, title="Disk usage", names=("System", "Photos", "Music", "Free"), hole=0.6, middle="512 GB", start=0
        ),
        inches=(5, 5),
        font="Roboto",
    ),
    Plot(
        partial(pie, title="Election result", names=PARTIES, legend=True, percent="%1.1f%%"),
        "seaborn-v0_8",
        (7, 4.5),
    ),
    Plot(partial(rings, title="Sales by channel", names=("Shop", "Web", "Phone")), inches=(5, 5)),
    Plot(
        partial(pie, title="Traffic sources", names=("Search", "Direct", "Social", "Mail")),
        "dark_background",
    ),
    Plot(
        partial(pie, title="Answers", names=("yes", "no", "unsure"), percent="%1.0f%%", colors="Greys"),
        "grayscale",
        (5, 4.5),
        "Liberation Serif",
    ),
    Plot(
        partial(pie, title="Completed", names=("done", "open"), values=(72, 28), hole=0.7, middle="72%", legend=True),
        "fivethirtyeight",
        (6, 4.5),
    ),
    Plot(
        partial(
            pie,
            title="Exports by country",
            names=("Germany", "France", "China", "USA", "Italy", "Japan", "Spain", "India", "Brazil", "Rest"),
            legend=True,
            colors="viridis",
        ),
        inches=(7.5, 5),
        font="Liberation Sans",
    ),
    Plot(partial(pie, title="Blood groups", names=("O", "A", "B", "AB"), pulled=0, percent="%1.0f%%"), "bmh", (5, 5)),
    Plot(
        partial(
            pie,
            title="Stromerzeugung",
            names=("Wind", "Solar", "Kohle", "Gas", "Kern"),
            colors="Spectral",
            percent="%1.1f %%",
        ),
        inches=(6, 5),
        font="Carlito",
    ),
    Plot(
        partial(
            pie, title="Time spent", names=("Work", "Sleep", "Family", "Commute"), values=(8, 8, 6, 2), colors="Pastel1"
        ),
        "seaborn-v0_8-pastel",
        (4.5, 4.5),
    ),
    Plot(
        partial(
            pie, title="", names=("Lead", "Qualified", "Proposal", "Won"), hole=0.45, percent="%1.0f%%", colors="Blues"
        ),
        inches=(5, 4.5),
        font="Lato",
    ),
    Plot(
        partial(
            pie,
            title="Browser share",
            names=("Chrome", "Safari", "Edge", "Firefox"),
            values=(64, 19, 9, 8),
            percent="%d%%",
            legend=True,
            pulled=3,
        ),
        "Solarize_Light2",
        (7, 4.5),
    ),
    Plot(
        partial(pie, title="Market", names=("A", "B", "C", "D", "E", "F"), shadow=True, colors="Set2"), inches=(6.5, 4)
    ),
)
