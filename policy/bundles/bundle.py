"""A policy in OPA's bundle format: a gzipped tar of Rego, data and a manifest.

Source: OPA documentation, "Bundles", section "Bundle File Format".
"""

import gzip
import hashlib
import io
import json
import re
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO, Any, cast

from headworks.policy.bundles.sources import PolicySources, SourceLimits, is_policy_file
from headworks.policy.errors import PolicyBroken

MANIFEST = ".manifest"
_DRIVE = re.compile(r"^[A-Za-z]:")
_FILE_BLOCKS = 10
"""Blocks of 512 bytes that a file costs beside its content: its header, at most one to fill its last block, and for a
long path a second header with seven blocks, 3.5 KiB, for the path: near the 4 KiB that Linux allows."""
_SLACK_BYTES = 2**16
"""Room for what no limit counts: the manifest, folders, and the zeros that end a tar (up to 10 KiB from Python)."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """One packed policy."""

    content: bytes
    """The file itself, a .tar.gz."""
    etag: str
    """A strong entity tag with its quotes (RFC 9110, section 8.8.3): the SHA-256 of `content`."""
    revision: str
    """`PolicySources.revision`, which the manifest names too."""


def pack(sources: PolicySources) -> Bundle:
    """Pack a policy; blocking. Equal files give equal bytes, so the tag changes only with the policy.

    The manifest comes first; owner, time and mode are the same for every file. Paths over 100 bytes, or not in ASCII,
    take a header more (pax), which Go's and Python's tar read.

    Raises:
        PolicyBroken: as `PolicySources.roots`.
    """
    revision = sources.revision
    manifest = {"revision": revision, "roots": sources.roots(), "rego_version": 1}
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, content in ((MANIFEST, json.dumps(manifest, sort_keys=True).encode()), *sources.files):
            member = tarfile.TarInfo(path)
            member.size = len(content)
            member.mode = 0o644
            archive.addfile(member, io.BytesIO(content))
    packed = gzip.compress(written.getvalue(), compresslevel=9, mtime=0)
    return Bundle(content=packed, etag=f'"{hashlib.sha256(packed).hexdigest()}"', revision=revision)


def read_bundle(content: bytes, limits: SourceLimits | None = None) -> tuple[PolicySources, str]:
    """Unpack a bundle in memory; nothing is written to disk. Blocking.

    Args:
        content: A .tar.gz that anybody may have made.
        limits: They are held against the headers and against what unpacks, before anything is kept.
    Returns:
        The policy, and the revision that the manifest claims ("" when it claims none).
    Raises:
        PolicyBroken: it is damaged or over a limit, or it holds a path that leaves the root, a link, a device, a file
            twice, no manifest, or nothing in Rego.
    """
    bounds = limits or SourceLimits()
    files: dict[str, bytes] = {}
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as unpacked:
            allowance = bounds.max_bytes + bounds.max_files * _FILE_BLOCKS * tarfile.BLOCKSIZE + _SLACK_BYTES
            stream = _Bounded(unpacked, allowance)
            for path, body in _members(stream, bounds):
                if path in files:
                    raise PolicyBroken(f"the bundle holds {path} twice")
                files[path] = body
            while stream.read(65536):
                pass  # a tar ends before its gzip, and the checksum stands at the gzip's end
    except (tarfile.TarError, EOFError, OSError, ValueError, zlib.error) as error:
        raise PolicyBroken(f"the bundle is damaged ({type(error).__name__})") from error
    revision = _revision(files.pop(MANIFEST, None))
    kept = tuple(sorted((path, body) for path, body in files.items() if is_policy_file(PurePosixPath(path).name)))
    if not any(path.endswith(".rego") for path, _ in kept):
        raise PolicyBroken("the bundle holds no .rego file")
    return PolicySources(kept), revision


class _Bounded:
    """Reads up to its allowance and then fails, so that a file that unpacks without end is stopped early."""

    def __init__(self, source: IO[bytes] | gzip.GzipFile, allowance: int) -> None:
        self._source = source
        self._left = allowance

    def read(self, size: int) -> bytes:
        data = self._source.read(min(size, self._left + 1))
        self._left -= len(data)
        if self._left < 0:
            raise PolicyBroken("the bundle unpacks to more than policy.regorus.limits.max_bytes")
        return data


def _members(stream: _Bounded, bounds: SourceLimits) -> Iterator[tuple[str, bytes]]:
    count = total = 0
    with tarfile.open(fileobj=cast(IO[bytes], stream), mode="r|") as archive:
        for member in archive:
            if member.isdir():
                continue
            path = _safe(member.name)
            if not member.isreg():
                raise PolicyBroken(f"{path} in the bundle is not a plain file")
            count += 1
            total += member.size
            bounds.check(count, member.size, total)
            body = archive.extractfile(member)
            yield path, body.read() if body else b""


def _safe(name: str) -> str:
    """Return the path relative to the bundle's root. OPA itself writes a slash before it."""
    parts = name.removeprefix("/").removeprefix("./").split("/")
    if "\\" in name or "\0" in name or _DRIVE.match(name) or any(part in ("", ".", "..") for part in parts):
        raise PolicyBroken("a path in the bundle leaves its root")
    return "/".join(parts)


def _revision(manifest: bytes | None) -> str:
    if manifest is None:
        raise PolicyBroken("the bundle has no manifest")
    try:
        fields: Any = json.loads(manifest)
    except (ValueError, RecursionError) as error:
        raise PolicyBroken("the bundle's manifest is not JSON") from error
    revision = fields.get("revision", "") if isinstance(fields, dict) else None
    if not isinstance(revision, str):
        raise PolicyBroken("the bundle's manifest has no revision")
    return revision
