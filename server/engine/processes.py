"""The processes of an engine, held so that none of them outlives it."""

import multiprocessing
import os
import select
import signal
import time
from contextlib import suppress
from pathlib import Path


class Processes:
    """Holds processes by Linux's handles (pidfd); a number may be another process's by the time it is killed."""

    def __init__(self) -> None:
        self._handles: dict[int, int] = {}
        """Open pidfd of each process id."""

    def hold(self, root: int) -> None:
        """Hold a process and all that it has started by now, those that these started included."""
        for pid in _family(root) - self._handles.keys():
            with suppress(ProcessLookupError):
                self._handles[pid] = os.pidfd_open(pid)

    def end(self, seconds: float) -> int:
        """Kill what is held and wait until it is gone, stopped processes included. Blocks.

        Args:
            seconds: How long to wait at most.
        Returns:
            How many processes are still there; those stay held.
        """
        for handle in self._handles.values():
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        deadline = time.monotonic() + seconds
        ended = [
            pid for pid, handle in self._handles.items() if _has_ended(handle, max(0.0, deadline - time.monotonic()))
        ]
        for pid in ended:
            os.close(self._handles.pop(pid))
        _reap(ended)
        return len(self._handles)


def _has_ended(handle: int, seconds: float) -> bool:
    """Wait for a process; its memory and files are free once its handle can be read."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _reap(ended: list[int]) -> None:
    """Leave no zombie of processes that have all ended.

    The first process of a container inherits its children's children, but only once their parent has ended.
    """
    multiprocessing.active_children()  # reaps what multiprocessing started, which must learn of it that way
    for pid in ended:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def _family(root: int) -> set[int]:
    """Return a process and its descendants, as far as they live."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            # After the name, which stands in brackets and may hold any character: state, parent.
            parent = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[1]
            children.setdefault(int(parent), []).append(int(folder.name))
    family, found = set[int](), [root]
    while found:
        pid = found.pop()
        family.add(pid)
        found += children.get(pid, [])
    return family
