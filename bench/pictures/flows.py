"""Flow charts by graphviz: `flows/NN.dot`, each laid out by `dot`."""

import io
import subprocess
from pathlib import Path

from PIL import Image

FLOWS = tuple(sorted((Path(__file__).parent / "flows").glob("*.dot")))


def draw(flow: Path) -> Image.Image:
    """Return the chart on its own ground, with a margin."""
    command = ("dot", "-Tpng", "-Gdpi=96", "-Gpad=0.25", str(flow))
    done = subprocess.run(command, check=True, capture_output=True, timeout=60)
    return Image.open(io.BytesIO(done.stdout)).convert("RGB")
