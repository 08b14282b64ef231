"""The sources of a policy: its Rego modules and its data, whether a folder or a bundle held them."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from headworks.policy.errors import PolicyBroken

DEFAULT_FOLDER = Path(__file__).parent.parent / "rego"
"""The policy that ships with the gateway."""

_PACKAGE = re.compile(r"^\s*package\s+([A-Za-z_][A-Za-z0-9_]*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SourceLimits:
    """Limits on one policy, read from a folder or from a bundle."""

    max_files: int = 1024
    """Files of one policy: room for two files for each of 500 tenants."""
    max_file_bytes: int = 4 * 2**20
    """One file: room for the data of some 10,000 tenants like those of the default policy."""
    max_bytes: int = 32 * 2**20
    """All files together, unpacked: eight files of the largest size. A policy is held in memory three times: its
    sources, its bundle and the compiled engine."""

    def check(self, files: int, file_bytes: int, total_bytes: int) -> None:
        """Hold one more file against the limits, before it is read.

        Raises:
            PolicyBroken: naming the limit.
        """
        for limit, seen in (("max_files", files), ("max_file_bytes", file_bytes), ("max_bytes", total_bytes)):
            if seen > getattr(self, limit):
                raise PolicyBroken(f"the policy is over policy.regorus.limits.{limit} ({getattr(self, limit)})")


@dataclass(frozen=True, slots=True)
class PolicySources:
    """The files of one policy, by path relative to its root, sorted."""

    files: tuple[tuple[str, bytes], ...]

    @property
    def revision(self) -> str:
        """The SHA-256 of paths and contents, in hex, so that equal files have an equal revision."""
        digest = hashlib.sha256()
        for path, content in self.files:
            for part in (path.encode(), content):
                digest.update(len(part).to_bytes(8, "big"))
                digest.update(part)
        return digest.hexdigest()

    def modules(self) -> list[tuple[str, str]]:
        """Return (path, Rego text).

        Raises:
            PolicyBroken: a module is not UTF-8.
        """
        return [(path, _text(path, content)) for path, content in self.files if path.endswith(".rego")]

    def data(self) -> dict[str, Any]:
        """Return the data document: each `a/b/data.json` stands at `data.a.b`.

        Raises:
            PolicyBroken: a file is not a JSON object, or two files give different values to one place.
        """
        document: dict[str, Any] = {}
        for path, content in self.files:
            if path.endswith(".rego"):
                continue
            value = _json_object(path, content)
            for folder in reversed(PurePosixPath(path).parent.parts):
                value = {folder: value}
            _merge(document, value, path)
        return document

    def roots(self) -> list[str]:
        """Return the top-level names under `data` that this policy owns, sorted.

        Raises:
            PolicyBroken: as `modules` and `data`; also for a module without a package.
        """
        names = set(self.data())
        for path, text in self.modules():
            found = _PACKAGE.search(text)
            if found is None:
                raise PolicyBroken(f"{path} names no package")
            names.add(found.group(1))
        return sorted(names)


def read_folder(folder: Path, limits: SourceLimits | None = None) -> PolicySources:
    """Read every `*.rego` and `data.json` under a folder; blocking.

    Left out are Rego tests (`*_test.rego`), files of other kinds, links that lead out of the folder, and what is
    hidden. Kubernetes mounts a ConfigMap as links into a hidden folder, where each file would be met a second time.

    Raises:
        PolicyBroken: there is no Rego, a file cannot be read or its name is not UTF-8, there is a `data.yaml` (write it
            as JSON), or the policy is over a limit.
    """
    bounds = limits or SourceLimits()
    root = folder.resolve()
    files: list[tuple[str, bytes]] = []
    total = 0
    try:
        for path in _policy_paths(root):
            size = path.stat().st_size
            total += size
            bounds.check(len(files) + 1, size, total)
            files.append((_name(path.relative_to(root)), path.read_bytes()))
    except OSError as error:
        raise PolicyBroken(f"the policy folder cannot be read: {error.strerror}") from error
    if not any(name.endswith(".rego") for name, _ in files):
        raise PolicyBroken("the policy folder holds no .rego file")
    return PolicySources(tuple(sorted(files)))


def is_policy_file(name: str) -> bool:
    """Tell whether a file of this name belongs to a policy."""
    return name == "data.json" or (name.endswith(".rego") and not name.endswith("_test.rego"))


def _policy_paths(root: Path) -> Iterator[Path]:
    for path in root.rglob("*"):
        if any(part.startswith(".") for part in path.relative_to(root).parts):
            continue
        if path.name in ("data.yaml", "data.yml"):
            raise PolicyBroken("policy data must be data.json, not YAML")
        if is_policy_file(path.name) and path.is_file() and path.resolve().is_relative_to(root):
            yield path


def _name(path: PurePath) -> str:
    name = path.as_posix()
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise PolicyBroken(f"the name of the file {name!a} is not UTF-8") from error
    return name


def _text(path: str, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PolicyBroken(f"{path} is not UTF-8") from error


def _json_object(path: str, content: bytes) -> dict[str, Any]:
    try:
        value = json.loads(_text(path, content), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise PolicyBroken(f"{path} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise PolicyBroken(f"{path} must hold a JSON object")
    return value


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _merge(into: dict[str, Any], value: Mapping[str, Any], path: str) -> None:
    for name, item in value.items():
        there = into.setdefault(name, item)
        if there is item:
            continue
        if not (isinstance(there, dict) and isinstance(item, dict)):
            raise PolicyBroken(f"{path} gives data.{name} a second value")
        _merge(there, item, path)
