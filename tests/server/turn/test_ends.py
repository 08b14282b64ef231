"""However a gateway ends while vLLM starts, none of vLLM's processes outlives it."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from headworks.intake.models.store import ModelStore
from tests.server.running import RunningGateway, starting_gateway

pytestmark = [pytest.mark.models, pytest.mark.engine, pytest.mark.timeout(600)]

SPAWNED = ("spawn_main", "VLLM::")
"""In the command of what multiprocessing starts, before and after vLLM names it."""


def test_stop_while_starting_leaves_no_process(tmp_path: Path, store: ModelStore) -> None:
    """Waiting for the whole start would have whoever waits for the gateway kill it."""
    with starting_gateway(tmp_path, store.root) as gateway:
        core = _wait_for(gateway, lambda: _spawned_by(gateway.process.pid))
        gateway.process.terminate()
        assert gateway.process.wait(60) == 0
        assert psutil.wait_procs([core], timeout=60) == ([core], [])


def test_killed_gateway_takes_vllm_along(tmp_path: Path, store: ModelStore) -> None:
    """A core that nobody talks to would hold two gigabytes until the machine is started anew."""
    with starting_gateway(tmp_path, store.root) as gateway:
        core = _wait_for(gateway, lambda: _spawned_by(gateway.process.pid))
        worker = _wait_for(gateway, lambda: _spawned_by(core.pid))
        gateway.process.kill()
        gateway.process.wait(60)
        _, alive = psutil.wait_procs([core, worker], timeout=100)
        assert alive == []


def _wait_for(gateway: RunningGateway, look: Callable[[], psutil.Process | None]) -> psutil.Process:
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline and gateway.process.poll() is None:
        with suppress(psutil.Error):
            if (found := look()) is not None:
                return found
        time.sleep(0.1)
    raise AssertionError(f"vLLM did not start it: {gateway.log.read_text()[-2000:]}")


def _spawned_by(parent: int) -> psutil.Process | None:
    for child in psutil.Process(parent).children():
        with suppress(psutil.Error):
            if any(mark in " ".join(child.cmdline()) for mark in SPAWNED):
                return child
    return None
