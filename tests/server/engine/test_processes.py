"""No process outlives its engine, whatever state it is in."""

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from headworks.server.engine.processes import Processes

PATIENCE_SECONDS = 30.0
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"])
print(child.pid, flush=True)
child.wait()
"""
SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of prctl(2): who orphans go to, as to the first process of a container."""


@pytest.fixture
def orphans_come_here() -> Iterator[None]:
    prctl = ctypes.CDLL(None).prctl
    assert prctl(SUBREAPER, 1, 0, 0, 0) == 0
    yield
    assert prctl(SUBREAPER, 0, 0, 0, 0) == 0


@pytest.fixture
def family() -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """A process and the number of its child, both of which run."""
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        said = sorted(parent.stdout.readline().split() for _ in range(2))
        yield parent, int(said[0][0])
        parent.kill()


def is_there(pid: int) -> bool:
    """A zombie is there too."""
    return os.path.exists(f"/proc/{pid}")


@pytest.mark.usefixtures("orphans_come_here")
@pytest.mark.parametrize("stopped", ["nobody", "parent", "child"])
def test_processes_end_even_when_they_are_stopped(family: tuple["subprocess.Popen[bytes]", int], stopped: str) -> None:
    """SIGTERM waits for ever in a stopped process, and a new engine would find the memory taken."""
    parent, child = family
    processes = Processes()
    processes.hold(parent.pid)
    if stopped != "nobody":
        os.kill(parent.pid if stopped == "parent" else child, signal.SIGSTOP)
    assert processes.end(PATIENCE_SECONDS) == 0
    assert not is_there(parent.pid)
    assert not is_there(child)


@pytest.mark.usefixtures("orphans_come_here")
def test_orphans_end_after_their_parent_was_killed(family: tuple["subprocess.Popen[bytes]", int]) -> None:
    """When vLLM's core is killed, a worker of it that is stopped does not notice, and nothing leads to it any more."""
    parent, child = family
    processes = Processes()
    processes.hold(parent.pid)
    os.kill(child, signal.SIGSTOP)
    parent.kill()
    parent.wait()
    assert processes.end(PATIENCE_SECONDS) == 0
    assert not is_there(child)


def test_process_that_multiprocessing_started_is_over_for_it_too() -> None:
    """vLLM starts its core that way, and what reaps a process behind its back leaves it alive there for ever."""
    core = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(600,))
    core.start()
    assert core.pid is not None
    processes = Processes()
    processes.hold(core.pid)
    assert processes.end(PATIENCE_SECONDS) == 0
    assert core.exitcode == -signal.SIGKILL


def test_processes_that_are_gone_need_no_end() -> None:
    """The usual case: vLLM ends its processes itself."""
    processes = Processes()
    with subprocess.Popen(["true"]) as gone:
        processes.hold(gone.pid)
    processes.hold(gone.pid)
    assert processes.end(PATIENCE_SECONDS) == 0


@pytest.mark.usefixtures("orphans_come_here")
def test_ending_may_be_tried_again(family: tuple["subprocess.Popen[bytes]", int]) -> None:
    """The kernel may take longer than the first try waits; what is not gone by then stays held."""
    parent, child = family
    processes = Processes()
    processes.hold(parent.pid)
    processes.end(0.0)
    assert processes.end(PATIENCE_SECONDS) == 0
    assert not is_there(parent.pid)
    assert not is_there(child)
