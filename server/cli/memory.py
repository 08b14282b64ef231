"""Resident memory of a process and of what it started, from /proc. Linux only.

Source: proc(5), /proc/pid/status: VmRSS and VmHWM in kB, PPid.
"""

from dataclasses import dataclass
from pathlib import Path

from headworks.server.cli.mistake import FAILED, Mistake

_PROC = Path("/proc")
_CORE = "EngineCore"
"""vLLM's core process names itself so."""
_SMALL_BYTES = 32_000_000
"""Smaller children, such as Python's resource tracker, are left out."""


@dataclass(frozen=True, slots=True)
class ProcessMemory:
    """The memory of one process."""

    name: str
    """"gateway", "vLLM core", or the child's own name."""
    pid: int
    resident_bytes: int
    peak_bytes: int


def memory_of(pid: int) -> list[ProcessMemory]:
    """Return the process itself first, then its descendants, the largest first.

    Raises:
        Mistake: there is no /proc, or the process has ended.
    """
    statuses = _statuses()
    if pid not in statuses:
        raise Mistake("Memory can be read on Linux only, while the gateway runs.", FAILED)
    found = []
    for child in _descendants(pid, statuses):
        resident, peak = (_bytes(statuses[child], key) for key in ("VmRSS", "VmHWM"))
        if resident >= _SMALL_BYTES:
            found.append(ProcessMemory(_name(child, statuses[child]), child, resident, peak))
    found.sort(key=lambda process: -process.resident_bytes)
    own = statuses[pid]
    return [ProcessMemory("gateway", pid, _bytes(own, "VmRSS"), _bytes(own, "VmHWM")), *found]


def _statuses() -> dict[int, dict[str, str]]:
    found = {}
    for folder in _PROC.glob("[0-9]*"):
        try:
            lines = (folder / "status").read_text().splitlines()
        except OSError:
            continue  # it ended meanwhile
        found[int(folder.name)] = {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return found


def _descendants(pid: int, statuses: dict[int, dict[str, str]]) -> list[int]:
    children = [child for child, status in statuses.items() if status.get("PPid") == str(pid)]
    return children + [deeper for child in children for deeper in _descendants(child, statuses)]


def _bytes(status: dict[str, str], key: str) -> int:
    return int(status.get(key, "0 kB").split()[0]) * 1024


def _name(pid: int, status: dict[str, str]) -> str:
    try:
        command = (_PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        command = ""
    return "vLLM core" if _CORE in command or _CORE in status["Name"] else status["Name"]
