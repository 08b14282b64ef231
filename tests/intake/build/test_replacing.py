"""A model that gets a successor is never lost."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from headworks.intake.build.errors import SourceUnreachable
from headworks.intake.build.recipe import REPLACED, STAGING
from headworks.intake.models.store import ModelKind, ModelStore
from tests.intake.models.test_store import SmallRecipe, build

REPOSITORY = Path(__file__).resolve().parents[3]
KILLED_BETWEEN_RENAMES = f"""
import os, sys
from pathlib import Path
from headworks.intake.models.store import ModelStore
from tests.intake.models.test_store import SmallRecipe, build

def die(event, arguments):
    if event == "os.rename" and {STAGING!r} in str(arguments[0]):
        os._exit(9)

sys.addaudithook(die)
build(ModelStore(Path(sys.argv[1])), SmallRecipe(revision=2))
"""


class AwayRecipe(SmallRecipe):
    """Its package is not installed here."""

    def versions(self) -> Mapping[str, str]:
        raise SourceUnreachable("not installed")


def kill_between_renames(root: Path) -> None:
    path = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    ended = subprocess.run(
        [sys.executable, "-c", KILLED_BETWEEN_RENAMES, str(root)], env={**os.environ, "PYTHONPATH": path}, check=False
    )
    assert ended.returncode == 9


def test_model_of_a_killed_pull_is_brought_back(tmp_path: Path) -> None:
    """The old one had stepped aside, the new one was not there yet."""
    store = ModelStore(tmp_path)
    build(store, SmallRecipe())
    kill_between_renames(tmp_path)
    assert store.models() == []
    build(store, SmallRecipe(name="other"))
    found = store.find(ModelKind.VAD, "small")
    assert store.manifest(found).recipe == 1
    assert not any(check.damage for check in store.verify())


def test_pull_after_a_killed_one_makes_the_successor(tmp_path: Path) -> None:
    """And nothing is left beside it."""
    store = ModelStore(tmp_path)
    build(store, SmallRecipe())
    kill_between_renames(tmp_path)
    build(store, SmallRecipe(revision=2))
    assert store.manifest(store.find(ModelKind.VAD)).recipe == 2
    assert not (tmp_path / REPLACED / "vad" / "small").exists()


def test_successor_is_not_overwritten_by_what_it_replaced(tmp_path: Path) -> None:
    """As after a kill behind the second rename."""
    store = ModelStore(tmp_path)
    build(store, SmallRecipe(revision=2))
    old = tmp_path / REPLACED / "vad" / "small"
    old.mkdir(parents=True)
    (old / "weights.bin").write_bytes(b"old")
    build(store, SmallRecipe(revision=2))
    assert (store.find(ModelKind.VAD).path / "weights.bin").read_bytes() == b"weights"
    assert not (tmp_path / REPLACED).exists()


def test_model_whose_source_is_not_installed_is_kept(tmp_path: Path) -> None:
    """CLIP is exported in an environment that has none of the packages with weights."""
    store = ModelStore(tmp_path)
    build(store, SmallRecipe())
    away = AwayRecipe()
    build(store, away)
    assert away.builds == []
