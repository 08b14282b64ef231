"""Memory of processes that really run."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headworks.server.cli.memory import memory_of
from headworks.server.cli.mistake import Mistake

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="read from /proc")

PARENT = """
import subprocess, sys
child = "held = bytearray(int(sys.argv[1]) * 1_000_000); held[::4096] = b'x' * len(held[::4096]); print(flush=True); "
child = "import sys; " + child + "sys.stdin.read()"
sizes = (("120", "EngineCore"), ("60", "worker"), ("0", "tracker"))
children = [
    subprocess.Popen([sys.executable, "-c", child, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for arguments in sizes
]
for started in children:
    started.stdout.readline()
print(*(started.pid for started in children), flush=True)
sys.stdin.read()
"""
"""Starts three children that hold so many megabytes, says who they are, and waits."""


@pytest.fixture
def family() -> Iterator[tuple[int, list[int]]]:
    """A process and its children."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process.pid, [int(pid) for pid in process.stdout.readline().split()]
        process.communicate("")


def test_the_process_comes_first_and_its_children_by_size(family: tuple[int, list[int]]) -> None:
    """vLLM's core by its name, whatever else it is called; children that are next to nothing are left out."""
    parent, (core, worker, _) = family
    found = memory_of(parent)
    assert [process.pid for process in found] == [parent, core, worker]
    assert [process.name for process in found[:2]] == ["gateway", "vLLM core"]
    assert found[2].name.startswith("python")
    assert found[1].resident_bytes >= 120_000_000
    assert 60_000_000 <= found[2].resident_bytes < 120_000_000
    assert all(0 < process.resident_bytes <= process.peak_bytes for process in found)


def test_a_process_that_is_not_there_is_one_sentence() -> None:
    """It may end between two looks."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    with pytest.raises(Mistake, match="while the gateway runs"):
        memory_of(process.pid)
