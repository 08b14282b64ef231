"""The image-text model that ships inside this package, in the store's own layout."""

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from headworks.intake.build.errors import PullFailed, SourceUnreachable
from headworks.intake.build.recipe import Step
from headworks.intake.models.manifest import sha256_of
from headworks.intake.models.store import ModelKind

SUMS = "SHA256SUMS"
"""As sha256sum writes it: a digest, two spaces, a name; one line a file."""
NEEDED = frozenset({"image.onnx", "text.onnx", "tokenizer.json", "preprocess.json", "labels.json"})
_LINE = re.compile(r"([0-9a-f]{64}) [ *]([A-Za-z0-9_][\w.-]*)", re.ASCII)


def shipped_folder() -> Path:
    """Return where the model lies, or would."""
    return Path(str(files("headworks.intake.image") / "model"))


@dataclass(frozen=True, slots=True)
class ShippedClip:
    """Copies the model, file by file, each against its digest."""

    folder: Path = field(default_factory=shipped_folder)
    kind: ModelKind = ModelKind.CLIP
    name: str = "headworks-small"
    source: str = "package headworks"
    revision: int = 1

    def versions(self) -> Mapping[str, str]:
        """Return the digest of the list of digests: another model is built again, another release alone is not."""
        return {SUMS: sha256_of(self._sums_file())}

    def build(self, into: Path, downloads: Path, step: Step) -> Mapping[str, str]:
        """Copy what the list names."""
        digests = _read_sums(self._sums_file())
        for done, (name, digest) in enumerate(digests.items()):
            step("copy", done, len(digests))
            if not (self.folder / name).is_file():
                raise PullFailed(f"{name} is not in {self.folder}; install headworks again.")
            shutil.copyfile(self.folder / name, into / name)
            if sha256_of(into / name) != digest:
                raise PullFailed(f"{name} in {self.folder} is damaged (its SHA-256 is wrong); install headworks again.")
        step("copy", len(digests), len(digests))
        return {}

    def _sums_file(self) -> Path:
        path = self.folder / SUMS
        if not path.is_file():
            raise SourceUnreachable(f"The CLIP model is not in this installation ({path}); install headworks again.")
        return path


def _read_sums(path: Path) -> dict[str, str]:
    """Return name to digest.

    Raises:
        PullFailed: a line of another form, or a file that a CLIP model needs is not listed.
    """
    digests = {}
    for line in path.read_text("utf-8").splitlines():
        parsed = _LINE.fullmatch(line)
        if parsed is None:
            raise PullFailed(f"{path} is damaged ({line[:80]!r}); install headworks again.")
        digests[parsed[2]] = parsed[1]
    missing = sorted(NEEDED - digests.keys())
    if missing:
        raise PullFailed(f"{path} does not list {missing[0]}; install headworks again.")
    return digests
