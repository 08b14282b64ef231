"""Draw the test set anew: `python -m bench.pictures.draw`, or only the kinds that are named."""

import argparse
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Protocol

from PIL import Image

from bench.pictures import (
    bars,
    flows,
    heatmaps,
    lines,
    maps,
    pages,
    photographs,
    pies,
    receipts,
    scatters,
    screens,
    streets,
    table_set,
)
from bench.pictures.browser import Browser
from bench.pictures.picture import keep

HERE = Path(__file__).parent

Drawing = Callable[[int], Image.Image]
"""Draws one picture from a seed."""


class Written(Protocol):
    """What a browser can show."""

    def page(self, chance: Random) -> tuple[str, str]:
        """Return `<main>` and its style sheet."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What the pictures are made from beside the Python packages."""

    browser: Browser
    atlas: Path
    """The folder that holds the npm packages world-atlas and us-atlas."""
    wallpapers: Path
    """The folder of the Debian package lomiri-wallpapers-16.04."""


def kinds(sources: Sources) -> dict[str, list[Drawing]]:
    """Return the twelve kinds by the name of their folder, sixteen drawings each."""
    browser = sources.browser
    return {
        "bar_chart": [plot.draw for plot in bars.PLOTS],
        "line_chart": [plot.draw for plot in lines.PLOTS],
        "pie_chart": [plot.draw for plot in pies.PLOTS],
        "scatter_plot": [plot.draw for plot in scatters.PLOTS],
        "heat_map": [plot.draw for plot in heatmaps.PLOTS],
        "table": _shots(browser, table_set.TABLES),
        "map": [*(plot.draw for plot in maps.plots(sources.atlas)), *_shots(browser, streets.STREETS)],
        "flow_chart": [partial(_unseeded, partial(flows.draw, flow)) for flow in flows.FLOWS],
        "receipt": _shots(browser, receipts.RECEIPTS),
        "page_of_text": _shots(browser, pages.PAGES),
        "screenshot": _shots(browser, screens.SCREENS),
        "photograph": [
            partial(_unseeded, partial(photograph.draw, sources.wallpapers)) for photograph in photographs.PHOTOGRAPHS
        ],
    }


def draw(kind: str, drawings: list[Drawing], folder: Path) -> int:
    """Write `folder/kind/NN.png` or `.webp` in place of what is there; return the bytes written."""
    place = folder / kind
    place.mkdir(parents=True, exist_ok=True)
    for old in [*place.glob("*.png"), *place.glob("*.webp")]:
        old.unlink()
    files = []
    for number, drawing in enumerate(drawings, 1):
        files.append(keep(drawing(zlib.crc32(f"{kind}/{number}".encode())), place / f"{number:02}"))
    return sum(file.stat().st_size for file in files)


def _shots(browser: Browser, written: Iterable[Written]) -> list[Drawing]:
    return [partial(_shot, browser, page) for page in written]


def _shot(browser: Browser, written: Written, seed: int) -> Image.Image:
    return browser.picture(*written.page(Random(seed)))


def _unseeded(drawing: Callable[[], Image.Image], _: int) -> Image.Image:
    return drawing()


def main() -> None:
    """Read the command line, draw, print the size of each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", help="all twelve if left out")
    parser.add_argument("--atlas", type=Path, default=Path("build/atlas/node_modules"))
    parser.add_argument("--wallpapers", type=Path, default=Path("/usr/share/backgrounds"))
    parser.add_argument("--into", type=Path, default=HERE)
    arguments = parser.parse_args()
    with Browser() as browser:
        known = kinds(Sources(browser, arguments.atlas, arguments.wallpapers))
        for kind in arguments.kinds or known:
            size = draw(kind, known[kind], arguments.into)
            print(f"{kind:14}{len(known[kind]):4} pictures {size / 1000:8.1f} kB")


if __name__ == "__main__":
    main()
