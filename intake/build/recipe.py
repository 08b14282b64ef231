"""How one model is made, and how the result gets into the store whole or not at all."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from headworks.intake.build.errors import SourceUnreachable, StoreBusy
from headworks.intake.build.progress import PullObserver
from headworks.intake.errors import ModelMissing
from headworks.intake.models.manifest import MANIFEST_NAME, Manifest, entry_of, scan
from headworks.intake.models.store import ModelKind, ModelStore

Step = Callable[[str, int, int], None]
"""(what, units done, units in all): says how far a build is."""

STAGING = ".building"
REPLACED = ".replaced"
"""Where a model waits, as <kind>/<name>, while its successor takes its place."""
DOWNLOADS = ".downloads"
LOCK = ".lock"


class Recipe(Protocol):
    """One way to make one model."""

    @property
    def kind(self) -> ModelKind:
        """What it makes."""
        ...

    @property
    def name(self) -> str:
        """Its name in the store."""
        ...

    @property
    def source(self) -> str:
        """Where the weights come from, in words."""
        ...

    @property
    def revision(self) -> int:
        """Counts changes of the recipe that make older results wrong or slow."""
        ...

    def versions(self) -> Mapping[str, str]:
        """Return the source's versions.

        Raises:
            SourceUnreachable: the source is not installed.
        """
        ...

    def build(self, into: Path, downloads: Path, step: Step) -> Mapping[str, str]:
        """Write the model's files.

        Args:
            into: An empty folder.
            downloads: A folder that outlives a failed pull, for half a download to go on from.
        Returns:
            Notes for the manifest.
        Raises:
            PullFailed: with the reason; what is in `into` is then thrown away.
        """
        ...


def make(store: ModelStore, recipe: Recipe, observer: PullObserver) -> None:
    """Build a model unless the store has it. Only the holder of the store's lock may call this.

    Raises:
        PullFailed: from the recipe; the store holds what it held.
    """
    if _has(store, recipe):
        observer.kept(recipe.kind, recipe.name)
        return
    observer.started(recipe.kind, recipe.name, recipe.source)
    staging = store.root / STAGING / f"{recipe.kind}-{recipe.name}"
    downloads = store.root / DOWNLOADS / f"{recipe.kind}-{recipe.name}"
    staging.mkdir(parents=True)

    def step(what: str, done: int, total: int) -> None:
        observer.advanced(recipe.kind, recipe.name, what, done, total)

    try:
        notes = recipe.build(staging, downloads, step)
        manifest = _seal(staging, recipe, notes, step)
        _publish(staging, store.at(recipe.kind, recipe.name).path, store.root / REPLACED / recipe.kind / recipe.name)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    shutil.rmtree(downloads, ignore_errors=True)
    observer.finished(recipe.kind, recipe.name, manifest.total_bytes)


@contextmanager
def locked(store: ModelStore) -> Iterator[None]:
    """Hold the store against other pulls, and bring back or clean what a killed one left behind.

    The lock is the kernel's (`flock`), so it dies with its holder; the file itself means nothing.

    Raises:
        StoreBusy: another process holds it.
    """
    import fcntl

    store.root.mkdir(parents=True, exist_ok=True)
    with (store.root / LOCK).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreBusy(f"Another pull is filling {store.root}; wait for it to end and run this again.") from error
        _bring_back(store.root)
        shutil.rmtree(store.root / STAGING, ignore_errors=True)
        yield


def _has(store: ModelStore, recipe: Recipe) -> bool:
    try:
        manifest = store.manifest(store.find(recipe.kind, recipe.name))
    except ModelMissing:
        return False
    if (manifest.source, manifest.recipe) != (recipe.source, recipe.revision):
        return False
    try:
        return dict(manifest.versions) == dict(recipe.versions())
    except SourceUnreachable:
        # What is there is good, and could not be made again here.
        return True


def _seal(folder: Path, recipe: Recipe, notes: Mapping[str, str], step: Step) -> Manifest:
    paths = list(scan(folder))
    entries = []
    for done, path in enumerate(paths):
        step("hash", done, len(paths))
        entries.append(entry_of(folder, path))
        _flush(path)
    step("hash", len(paths), len(paths))
    manifest = Manifest(
        kind=recipe.kind,
        name=recipe.name,
        source=recipe.source,
        versions=recipe.versions(),
        recipe=recipe.revision,
        built_at=datetime.now(UTC).isoformat(timespec="microseconds"),
        files=tuple(entries),
        notes=notes,
    )
    (folder / MANIFEST_NAME).write_text(manifest.to_json(), "utf-8")
    _flush(folder / MANIFEST_NAME)
    _flush(folder)
    return manifest


def _publish(staging: Path, target: Path, aside: Path) -> None:
    """Rename into place. An older model of that name steps aside first, and comes back if the rename fails; if we are
    killed between the two, the next holder of the lock brings it back."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        aside.parent.mkdir(parents=True, exist_ok=True)
        target.rename(aside)
    try:
        staging.rename(target)
    except OSError:
        if aside.exists():
            aside.rename(target)
        raise
    _flush(target.parent)
    shutil.rmtree(aside, ignore_errors=True)


def _bring_back(root: Path) -> None:
    """Put every model that stepped aside where it was, unless its successor is there."""
    for aside in sorted((root / REPLACED).glob("*/*")):
        target = root / aside.parent.name / aside.name
        if not target.exists():
            aside.rename(target)
            _flush(target.parent)
    shutil.rmtree(root / REPLACED, ignore_errors=True)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
