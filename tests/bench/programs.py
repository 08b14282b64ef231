"""Runs a benchmark as a reader would, with tiny numbers."""

import subprocess
import sys

from tests.conftest import REPOSITORY

SECONDS = 240


def output_of(program: str, *options: str) -> str:
    """Return what it prints."""
    command = [sys.executable, "-m", f"bench.{program}", *options]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
