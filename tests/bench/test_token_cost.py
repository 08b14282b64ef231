"""The cost of a token: its arithmetic, its counter, and a tiny run."""

import subprocess
import sys
from dataclasses import astuple
from pathlib import Path

import pytest

from bench.allocations import Allocations, make_file
from bench.token_cost import Used
from tests.bench.programs import output_of
from tests.conftest import REPOSITORY

OBJECTS = 50_000
COUNTING = f"""
from pathlib import Path
from bench.allocations import Allocations, count_into
file = Path(__import__("sys").argv[1])
count_into(file)
before = Allocations.read(file)
kept = [object() for _ in range({OBJECTS})]
after = Allocations.read(file)
print(after.calls - before.calls, after.size_bytes - before.size_bytes)
"""


def test_every_allocation_is_counted(tmp_path: Path) -> None:
    """tracemalloc shows what is alive, so a token that leaves nothing behind would seem to cost nothing."""
    file = tmp_path / "allocations"
    make_file(file)
    command = [sys.executable, "-c", COUNTING, str(file)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=True)
    calls, size_bytes = map(int, done.stdout.split())
    # An object and its number each; numbers up to 256 exist already, and the list grows now and then.
    assert 2 * OBJECTS - 256 <= calls <= 2.01 * OBJECTS
    assert size_bytes >= sys.getsizeof(object()) * OBJECTS
    assert Allocations.read(file).calls > calls


def test_what_a_turn_costs_by_itself_drops_out() -> None:
    """Opening a turn costs as much as some dozens of tokens; it must not be spread over them."""
    opening, token = 1000.0, Used(1, 0.5, 4, 14, 100, 60, 120, 9000)
    short, long = (Used(n, *(opening + n * each for each in astuple(token)[1:])) for n in (8, 136))
    assert long.by_token(short) == token


@pytest.mark.models
@pytest.mark.slow
def test_the_cost_of_a_token_is_shown_for_each_server() -> None:
    """A cost without the bare server's says nothing about the gateway."""
    printed = output_of("token_cost", "--scale", "0.02", "--kinds", "bare,gateway")
    rows = [line.split("│")[1].strip() for line in printed.splitlines() if line.startswith("│")]
    assert rows == ["bare", "bare", "gateway", "gateway"]
