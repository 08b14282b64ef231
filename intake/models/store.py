"""The model store: `<root>/<kind>/<name>/`, each model with a manifest. Reading it never writes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from headworks.intake.errors import ModelMissing, NoHome
from headworks.intake.models.manifest import MANIFEST_NAME, Manifest, parse_manifest, sha256_of

DEFAULT_ROOT = Path("~/.headworks/models")
PULL_COMMAND = "headworks models pull"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")


class ModelKind(StrEnum):
    """What a stored model does; also the name of its folder."""

    LANGUAGE = "language"
    """Hugging Face layout: safetensors, config, tokenizer, chat template."""
    WHISPER = "whisper"
    """encoder.onnx, decoder.onnx, config.json, tokens.json, mel_filters.npy."""
    VAD = "vad"
    """silero_vad.onnx."""
    OCR = "ocr"
    """detection.onnx, recognition.onnx, orientation.onnx, characters.txt."""
    CLIP = "clip"
    """image.onnx, text.onnx, preprocess.json, tokenizer.json, labels.json."""


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A finished model."""

    kind: ModelKind
    name: str
    path: Path
    """Its folder."""


class Damage(StrEnum):
    """What `verify` finds wrong with a file."""

    MISSING = "missing"
    CHANGED = "changed"
    UNLISTED = "unlisted"
    NO_MANIFEST = "no valid manifest"


@dataclass(frozen=True, slots=True)
class Check:
    """The verdict on one stored model."""

    model: StoredModel
    damage: tuple[tuple[str, Damage], ...]
    """(file, what is wrong), sorted; empty when all is well."""


def at_home(path: Path) -> Path:
    """Return a path with its "~" put in full.

    Raises:
        NoHome: this user, or the one that it names, has no home folder.
    """
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise NoHome(f"{path} is in a home folder, and there is none for this user; name a folder in full") from error


class ModelStore:
    """Finds finished models. `pull` in `pull.py` is what fills it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def find(self, kind: ModelKind, name: str | None = None) -> StoredModel:
        """Return a model whose files are all there with the right sizes (their digests are `verify`'s task).

        Args:
            name: Which one; None is the one built last.
        Raises:
            ModelMissing: none such, or damaged.
        """
        models = [model for model, _ in self._of_kind(kind)] if name is None else [self.at(kind, name)]
        if not models or not models[-1].path.is_dir():
            wanted = f"no {kind} model" if name is None else f"no {kind} model named {name}"
            raise ModelMissing(f"There is {wanted} in {self.root}; run: {PULL_COMMAND}")
        model = models[-1]
        damage = _sizes(model.path, self.manifest(model))
        if damage:
            raise ModelMissing(f"The {kind} model {model.name} is damaged ({damage[0][0]}); run: {PULL_COMMAND}")
        return model

    def models(self) -> list[tuple[StoredModel, Manifest]]:
        """Return every model that has a valid manifest, by kind, then oldest first."""
        return [found for kind in ModelKind for found in self._of_kind(kind)]

    def verify(self) -> Iterator[Check]:
        """Read every file of every model and compare its SHA-256 with the manifest's; one `Check` a model."""
        for kind in ModelKind:
            for folder in self._folders(kind):
                model = StoredModel(kind, folder.name, folder)
                try:
                    manifest = self.manifest(model)
                except ModelMissing:
                    yield Check(model, ((MANIFEST_NAME, Damage.NO_MANIFEST),))
                else:
                    yield Check(model, tuple(sorted(_contents(folder, manifest))))

    def manifest(self, model: StoredModel) -> Manifest:
        """Read a model's manifest.

        Raises:
            ModelMissing: there is none, or it is not one.
        """
        try:
            return parse_manifest((model.path / MANIFEST_NAME).read_text("utf-8"))
        except (OSError, ValueError) as error:
            sentence = f"The {model.kind} model {model.name} has no valid manifest; run: {PULL_COMMAND}"
            raise ModelMissing(sentence) from error

    def at(self, kind: ModelKind, name: str) -> StoredModel:
        """Return where a model of this name is or would be.

        Raises:
            ModelMissing: not a possible name (1 to 128 letters, digits, `.`, `_`, `-`).
        """
        if not _NAME.fullmatch(name):
            raise ModelMissing(f"{name!r} cannot be a model's name; see: headworks models list")
        return StoredModel(kind, name, self.root / kind / name)

    def _of_kind(self, kind: ModelKind) -> list[tuple[StoredModel, Manifest]]:
        found = []
        for folder in self._folders(kind):
            model = StoredModel(kind, folder.name, folder)
            try:
                found.append((model, self.manifest(model)))
            except ModelMissing:
                continue
        return sorted(found, key=lambda pair: (pair[1].built_at, pair[0].name))

    def _folders(self, kind: ModelKind) -> list[Path]:
        parent = self.root / kind
        return sorted(path for path in parent.iterdir() if path.is_dir()) if parent.is_dir() else []


def _sizes(folder: Path, manifest: Manifest) -> list[tuple[str, Damage]]:
    damage = []
    for entry in manifest.files:
        path = folder / entry.path
        if not path.is_file():
            damage.append((entry.path, Damage.MISSING))
        elif path.stat().st_size != entry.size_bytes:
            damage.append((entry.path, Damage.CHANGED))
    return damage


def _contents(folder: Path, manifest: Manifest) -> Iterator[tuple[str, Damage]]:
    wrong = _sizes(folder, manifest)
    yield from wrong
    known = {path for path, _ in wrong}
    for entry in manifest.files:
        if entry.path not in known and sha256_of(folder / entry.path) != entry.sha256:
            yield entry.path, Damage.CHANGED
    listed = {entry.path for entry in manifest.files} | {MANIFEST_NAME}
    for path in folder.rglob("*"):
        if path.is_file() and path.relative_to(folder).as_posix() not in listed:
            yield path.relative_to(folder).as_posix(), Damage.UNLISTED
