"""The model that ships inside the package."""

import hashlib
from pathlib import Path

import pytest

from headworks.intake.build.errors import PullFailed, SourceUnreachable
from headworks.intake.build.progress import SilentObserver
from headworks.intake.build.pull import PullChoice, recipes
from headworks.intake.build.recipe import locked, make
from headworks.intake.build.shipped import NEEDED, SUMS, ShippedClip
from headworks.intake.errors import ModelMissing
from headworks.intake.image.clip import ClipModel
from headworks.intake.models.store import ModelKind, ModelStore
from headworks.intake.onnx.settings import OnnxSettings
from tests.intake.image.clip_model import make_store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model as it ships."""
    at = make_store(tmp_path / "made").find(ModelKind.CLIP).path
    (at / "manifest.json").unlink()
    write_sums(at)
    return at


def write_sums(at: Path) -> None:
    files = sorted(path for path in at.iterdir() if path.name != SUMS)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in files]
    (at / SUMS).write_text("\n".join(lines) + "\n")


def build(root: Path, folder: Path) -> ModelStore:
    store = ModelStore(root)
    with locked(store):
        make(store, ShippedClip(folder), SilentObserver())
    return store


def test_shipped_model_is_copied_and_loads(tmp_path: Path, folder: Path) -> None:
    """`ClipModel` finds all it needs."""
    store = build(tmp_path / "store", folder)
    ClipModel.load(store, OnnxSettings())
    assert {path.name for path in store.find(ModelKind.CLIP).path.iterdir()} == {*NEEDED, "manifest.json"}
    assert not any(check.damage for check in store.verify())


def test_another_shipped_model_takes_its_place(tmp_path: Path, folder: Path) -> None:
    """The list of digests is the version."""
    build(tmp_path / "store", folder)
    (folder / "card.txt").write_text("trained again")
    write_sums(folder)
    assert (build(tmp_path / "store", folder).find(ModelKind.CLIP).path / "card.txt").is_file()


def test_changed_byte_is_not_stored(tmp_path: Path, folder: Path) -> None:
    """A wheel may be unpacked badly, and a checkout edited."""
    graph = folder / "text.onnx"
    graph.write_bytes(graph.read_bytes()[:-1] + b"#")
    with pytest.raises(PullFailed, match=r"text\.onnx .* is damaged"):
        build(tmp_path / "store", folder)
    with pytest.raises(ModelMissing):
        ModelStore(tmp_path / "store").find(ModelKind.CLIP)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("text.onnx", "../text.onnx", "damaged"),
        ("text.onnx", "other.onnx", "does not list text.onnx"),
        ("  text.onnx", "\ttext.onnx", "damaged"),
    ],
)
def test_odd_list_is_refused(tmp_path: Path, folder: Path, old: str, new: str, what: str) -> None:
    """It names files that are then copied."""
    (folder / SUMS).write_text((folder / SUMS).read_text().replace(old, new))
    with pytest.raises(PullFailed, match=what):
        build(tmp_path / "store", folder)


def test_file_that_is_listed_and_not_there_is_told(tmp_path: Path, folder: Path) -> None:
    """As after a clone without its large files."""
    (folder / "image.onnx").unlink()
    with pytest.raises(PullFailed, match=r"image\.onnx is not in"):
        build(tmp_path / "store", folder)


def test_installation_without_the_model_says_so(tmp_path: Path) -> None:
    """It is part of the package, so the installation is at fault."""
    with pytest.raises(SourceUnreachable, match="install headworks again"):
        build(tmp_path / "store", tmp_path)


@pytest.mark.parametrize("kinds", [frozenset(ModelKind), frozenset({ModelKind.CLIP})])
def test_the_shipped_model_is_pulled_by_default(kinds: frozenset[ModelKind]) -> None:
    """The embedded default sees without a network, and `--only clip` alone builds something."""
    assert any(isinstance(recipe, ShippedClip) for recipe in recipes(PullChoice(kinds=kinds)))
