"""Fetch one file of known digest over HTTPS; goes on where an interrupted fetch stopped."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headworks.intake.build.errors import PullFailed, SourceUnreachable
from headworks.intake.models.manifest import sha256_of

_PIECE_BYTES = 1 << 18
_PARTIAL_CONTENT, _RANGE_NOT_SATISFIABLE = 206, 416


@dataclass(frozen=True, slots=True)
class DownloadSettings:
    """Patience with a host."""

    timeout_seconds: float = 15.0
    """Without an answer or another byte; official hosts answer in one."""
    max_bytes: int = 20 * 1024**3
    """The largest model file worth having; a host that sends more is not the one that was meant."""


def fetch(url: str, to: Path, sha256: str, advanced: Callable[[int, int], None], settings: DownloadSettings) -> None:
    """Bring `url` to `to`; what is there already is kept and continued, and a whole file is not asked for again.

    Args:
        advanced: Hears (bytes so far, bytes in all; 0 when unknown).
    Raises:
        SourceUnreachable: the host does not answer, or stopped; run again to go on.
        PullFailed: what came is not what the digest promises; it is thrown away.
    """
    if to.is_file() and sha256_of(to) == sha256:
        return
    to.parent.mkdir(parents=True, exist_ok=True)
    try:
        _continue(url, to, advanced, settings)
    except (OSError, http.client.HTTPException) as error:
        host = urllib.request.Request(url).host  # noqa: S310 - the callers' own constants
        raise SourceUnreachable(
            f"{host} cannot be reached ({_reason(error)}); check the network and run this again."
        ) from error
    if sha256_of(to) != sha256:
        to.unlink()
        raise PullFailed(f"{to.name} did not arrive whole (its SHA-256 is wrong); run this again.")


def _continue(url: str, to: Path, advanced: Callable[[int, int], None], settings: DownloadSettings) -> None:
    have = to.stat().st_size if to.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})  # noqa: S310
    try:
        response = urllib.request.urlopen(request, timeout=settings.timeout_seconds)  # noqa: S310
    except urllib.error.HTTPError as error:
        if error.code == _RANGE_NOT_SATISFIABLE:
            return
        raise
    with response, to.open("ab" if response.status == _PARTIAL_CONTENT else "wb") as file:
        done = file.tell()
        total = done + int(response.headers.get("Content-Length") or 0)
        while piece := response.read(_PIECE_BYTES):
            done += len(piece)
            if done > settings.max_bytes:
                raise PullFailed(f"{to.name} is over {settings.max_bytes} bytes; this is not the file that was meant.")
            file.write(piece)
            advanced(done, max(done, total))
        if done < total:
            raise http.client.IncompleteRead(b"", total - done)


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    return str(reason) or type(reason).__name__
