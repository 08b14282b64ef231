"""The model store: whole or not at all, and damage is seen."""

import fcntl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from headworks.intake.build.errors import PullFailed, StoreBusy
from headworks.intake.build.progress import SilentObserver
from headworks.intake.build.pull import PullChoice, pull
from headworks.intake.build.recipe import LOCK, STAGING, Step, locked, make
from headworks.intake.errors import ModelMissing
from headworks.intake.models.store import ModelKind, ModelStore


@dataclass
class SmallRecipe:
    """Writes one file, or breaks after it."""

    breaks: bool = False
    kind: ModelKind = ModelKind.VAD
    name: str = "small"
    source: str = "test"
    revision: int = 1
    builds: list[str] = field(default_factory=list)

    def versions(self) -> Mapping[str, str]:
        return {"test": "1"}

    def build(self, into: Path, downloads: Path, step: Step) -> Mapping[str, str]:
        self.builds.append(self.name)
        (into / "weights.bin").write_bytes(b"weights")
        if self.breaks:
            raise PullFailed("it broke")
        return {}


def build(store: ModelStore, recipe: SmallRecipe) -> None:
    with locked(store):
        make(store, recipe, SilentObserver())


def test_model_is_built_once(tmp_path: Path) -> None:
    """A second pull finds it; a newer recipe builds it again."""
    store, recipe = ModelStore(tmp_path), SmallRecipe()
    build(store, recipe)
    build(store, recipe)
    assert len(recipe.builds) == 1
    assert (store.find(ModelKind.VAD).path / "weights.bin").read_bytes() == b"weights"
    newer = SmallRecipe(revision=2)
    build(store, newer)
    assert len(newer.builds) == 1


def test_broken_build_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    """Half a model must never be served."""
    store = ModelStore(tmp_path)
    with pytest.raises(PullFailed):
        build(store, SmallRecipe(breaks=True))
    with pytest.raises(ModelMissing, match="models pull"):
        store.find(ModelKind.VAD)
    assert not list((tmp_path / STAGING).iterdir())


def test_leftovers_of_a_killed_build_are_cleaned(tmp_path: Path) -> None:
    """The next pull goes on as if nothing had been."""
    leftover = tmp_path / STAGING / "vad-small"
    leftover.mkdir(parents=True)
    (leftover / "weights.bin").write_bytes(b"half")
    store = ModelStore(tmp_path)
    build(store, SmallRecipe())
    assert (store.find(ModelKind.VAD).path / "weights.bin").read_bytes() == b"weights"


def test_verify_sees_one_changed_byte(tmp_path: Path) -> None:
    """Sizes alone would not show it."""
    store = ModelStore(tmp_path)
    build(store, SmallRecipe())
    assert not any(check.damage for check in store.verify())
    (store.find(ModelKind.VAD).path / "weights.bin").write_bytes(b"Weights")
    (check,) = store.verify()
    assert check.damage


def test_two_pulls_do_not_meet(tmp_path: Path) -> None:
    """The second one is told to wait, and the lock dies with its holder."""
    store = ModelStore(tmp_path)
    with (tmp_path / LOCK).open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(StoreBusy):
            build(store, SmallRecipe())
    build(store, SmallRecipe())


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        (PullChoice(language="not an id"), "organisation/model"),
        (PullChoice(whisper="enormous", kinds=frozenset({ModelKind.WHISPER})), "enormous"),
        (PullChoice(clip="no model"), "NAME:TAG|open_clip"),
    ],
)
def test_a_choice_that_cannot_be_pulled_is_one_sentence(tmp_path: Path, choice: PullChoice, sentence: str) -> None:
    """And nothing is built in its place."""
    with pytest.raises(PullFailed, match=sentence):
        pull(ModelStore(tmp_path), choice, SilentObserver())
    assert ModelStore(tmp_path).models() == []


@pytest.mark.models
def test_pulled_store_is_whole(store: ModelStore) -> None:
    """Every file of the four default models is what its manifest says."""
    checks = list(store.verify())
    assert {check.model.kind for check in checks} >= {
        ModelKind.LANGUAGE,
        ModelKind.WHISPER,
        ModelKind.VAD,
        ModelKind.OCR,
    }
    assert not any(check.damage for check in checks)
