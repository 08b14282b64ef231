"""Chromium without a window: HTML in, the picture of its `<main>` out."""

import subprocess
import tempfile
from pathlib import Path

from PIL import Image

from bench.pictures.picture import cut_out

GROUND = "#ff00ff"
"""Colour of the page outside `<main>`, cut away; no page of ours uses it."""

OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
)


class Browser:
    """Takes screenshots with a profile of its own, which goes away with it."""

    def __init__(self, command: str = "chromium") -> None:
        self._command = command
        self._folder = tempfile.TemporaryDirectory()

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def picture(self, main: str, css: str = "", width: int = 2000, height: int = 3000) -> Image.Image:
        """Draw one page.

        Args:
            main: what stands in the body, one `<main>` with a width and a ground of its own.
            css: the page's style sheet.
            width, height: the window in pixels; `<main>` must fit into it.
        """
        folder = Path(self._folder.name)
        page, shot = folder / "page.html", folder / "page.png"
        frame = f"html{{background:{GROUND}}}body{{margin:0}}main{{display:block;position:relative;overflow:hidden}}"
        page.write_text(f"<!doctype html><meta charset=utf-8><style>{frame}{css}</style><body>{main}</body>")
        window = (f"--window-size={width},{height}", f"--screenshot={shot}", f"--user-data-dir={folder / 'profile'}")
        subprocess.run([self._command, *OPTIONS, *window, page.as_uri()], check=True, capture_output=True, timeout=120)
        return cut_out(Image.open(shot), GROUND)
