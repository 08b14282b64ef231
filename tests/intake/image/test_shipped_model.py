"""The image-text model that ships, as it is run."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from headworks.intake.build.progress import SilentObserver
from headworks.intake.build.recipe import locked, make
from headworks.intake.build.shipped import ShippedClip, shipped_folder
from headworks.intake.image.clip import ClipModel
from headworks.intake.image.picture import Pixels
from headworks.intake.models.store import ModelStore
from headworks.intake.onnx.settings import CPU, OnnxSettings

MOST_BYTES = 12_000_000
HARMLESS = "safe"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ClipModel:
    """As `models pull` leaves it."""
    store = ModelStore(tmp_path_factory.mktemp("store"))
    with locked(store):
        make(store, ShippedClip(), SilentObserver())
    return ClipModel.load(store, OnnxSettings(providers=(CPU,)))


def best(model: ClipModel, pixels: Pixels) -> dict[str, str]:
    found: dict[str, str] = {}
    for label in model.labels(pixels):
        found.setdefault(label.set_name, label.name)
    return found


def bars() -> Pixels:
    picture = Image.new("RGB", (320, 240), "white")
    draw = ImageDraw.Draw(picture)
    draw.line((40, 10, 40, 210, 310, 210), fill="black", width=2)
    for place, height in enumerate((60, 110, 90, 170, 140)):
        draw.rectangle((60 + 50 * place, 210 - height, 90 + 50 * place, 210), fill="#1f77b4")
    return np.asarray(picture)


def pie() -> Pixels:
    picture = Image.new("RGB", (300, 240), "white")
    draw = ImageDraw.Draw(picture)
    for start, end, colour in ((0, 140, "#4285f4"), (140, 250, "#db4437"), (250, 360, "#f4b400")):
        draw.pieslice((60, 30, 240, 210), start, end, fill=colour, outline="white", width=2)
    return np.asarray(picture)


def test_files_are_the_listed_ones_and_small() -> None:
    """A model that was changed by hand is another model."""
    folder = shipped_folder()
    listed = dict(reversed(line.split("  ")) for line in (folder / "SHA256SUMS").read_text("utf-8").splitlines())
    assert {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in listed} == listed
    assert sum((folder / name).stat().st_size for name in listed) <= MOST_BYTES


@pytest.mark.parametrize(("picture", "document"), [(bars, "bar chart"), (pie, "pie chart")], ids=["bars", "pie"])
def test_kind_of_document_is_seen(model: ClipModel, picture: Callable[[], Pixels], document: str) -> None:
    """Neither comes from the training's script."""
    found = best(model, picture())
    assert (found["document"], found["safety"]) == (document, HARMLESS)


def test_scores_of_a_set_are_shares(model: ClipModel) -> None:
    sums: dict[str, float] = {}
    for label in model.labels(bars()):
        assert 0 <= label.score <= 1
        sums[label.set_name] = sums.get(label.set_name, 0) + label.score
    assert sums == pytest.approx(dict.fromkeys(("content", "document", "safety"), 1.0), abs=1e-4)


def test_temperatures_are_fitted() -> None:
    """A score means something only after it was compared with known answers."""
    sets = json.loads((shipped_folder() / "labels.json").read_text("utf-8"))
    assert all(one["temperature"] != 1.0 for one in sets.values())


@pytest.mark.parametrize("size", [(1, 1), (1, 900), (900, 1), (3, 2)])
def test_pictures_of_any_shape_are_embedded(model: ClipModel, size: tuple[int, int]) -> None:
    pixels = np.full((*size, 3), 200, np.uint8)
    assert np.isfinite([label.score for label in model.labels(pixels)]).all()


def test_running_it_needs_no_torch(tmp_path: Path) -> None:
    """Gateways are installed without it where vLLM runs elsewhere."""
    script = (
        "import sys, numpy\n"
        "from headworks.intake.image.clip import Towers\n"
        "from headworks.intake.build.shipped import shipped_folder\n"
        "from headworks.intake.onnx.settings import CPU, OnnxSettings\n"
        "towers = Towers.load(shipped_folder(), OnnxSettings(providers=(CPU,)))\n"
        "towers.images([numpy.zeros((9, 9, 3), 'uint8')]), towers.texts(['a dog'])\n"
        "print(*sorted({'torch', 'open_clip', 'transformers', 'resvg_py'} & sys.modules.keys()))\n"
    )
    said = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert said.stdout.strip() == ""
