"""One matplotlib picture: a style, a size, a font, and a function that fills the axes."""

import io
from collections.abc import Callable
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from numpy.random import Generator
from PIL import Image

mpl.use("Agg")

Fill = Callable[[Axes, Generator], None]


@dataclass(frozen=True, slots=True)
class Plot:
    """What is drawn, and in what dress."""

    fill: Fill
    style: str = "default"
    """A name of `matplotlib.style.available`, or `default`."""
    inches: tuple[float, float] = (6.4, 4.8)
    """Width and height, at 100 pixels an inch."""
    font: str = "DejaVu Sans"

    def draw(self, seed: int) -> Image.Image:
        """Return the whole figure, titles and legends inside it."""
        with plt.style.context(self.style):
            mpl.rcParams.update({"font.family": self.font, "savefig.bbox": None})
            figure, axes = plt.subplots(figsize=self.inches, layout="constrained")
            figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
            self.fill(axes, np.random.default_rng(seed))
            buffer = io.BytesIO()
            figure.savefig(buffer, format="png", dpi=100, facecolor=figure.get_facecolor())
            plt.close(figure)
        return Image.open(buffer).convert("RGB")
