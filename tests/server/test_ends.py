"""However a gateway ends while vLLM starts, none of vLLM's processes outlives it."""

import signal
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from headworks.intake.models.store import ModelStore
from tests.server.running import RunningGateway, starting_gateway

pytestmark = [pytest.mark.models, pytest.mark.engine, pytest.mark.timeout(600)]

SPAWNED = "spawn_main"
"""In the command of what multiprocessing starts; the core gives itself a name only later."""


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)])
def test_ended_while_starting_leaves_no_process(
    tmp_path: Path, store: ModelStore, sent: signal.Signals, code: int
) -> None:
    """A core that nobody talks to would hold two gigabytes until the machine is started anew."""
    with starting_gateway(tmp_path, store.root) as gateway:
        core = _wait_for_core(gateway)
        gateway.process.send_signal(sent)
        assert gateway.process.wait(60) == code
        gone, alive = psutil.wait_procs([core], timeout=200)
        assert (gone, alive) == ([core], [])


def _wait_for_core(gateway: RunningGateway) -> psutil.Process:
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline and gateway.process.poll() is None:
        for child in psutil.Process(gateway.process.pid).children():
            with suppress(psutil.Error):
                if SPAWNED in " ".join(child.cmdline()):
                    return child
        time.sleep(0.1)
    raise AssertionError(f"vLLM's core was not started: {gateway.log.read_text()[-2000:]}")
