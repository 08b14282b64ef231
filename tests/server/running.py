"""A whole gateway in a process of its own, as an operator would start it."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

START_SECONDS = 240.0


@dataclass(frozen=True, slots=True)
class RunningGateway:
    """Where it is."""

    process: "subprocess.Popen[bytes]"
    port: int
    http_port: int
    log: Path

    @property
    def target(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http_port}"

    def gauge(self, name: str) -> float:
        """Read one figure from /metrics."""
        for line in httpx.get(f"{self.url}/metrics").text.splitlines():
            if line.startswith(f"{name} "):
                return float(line.split()[1])
        raise KeyError(name)

    def wait_gauge(self, name: str, value: float, seconds: float = 5.0) -> None:
        """Return when a figure has a value; fail when it has not in time."""
        deadline = time.monotonic() + seconds
        while self.gauge(name) != value:
            assert time.monotonic() < deadline, f"{name} stayed {self.gauge(name)}"
            time.sleep(0.05)


@contextmanager
def running_gateway(folder: Path, store: Path, **settings: str) -> Iterator[RunningGateway]:
    """Start one, wait until it is ready, and stop it.

    Args:
        folder: For its log.
        settings: Variables without their prefix ("ENGINE__KIND").
    """
    with starting_gateway(folder, store, **settings) as gateway:
        _wait_ready(gateway)
        yield gateway


@contextmanager
def starting_gateway(folder: Path, store: Path, **settings: str) -> Iterator[RunningGateway]:
    """The same, without waiting until it is ready."""
    port, http_port = free_port(), free_port()
    log = folder / "gateway.log"
    environment = os.environ | {f"HEADWORKS_{key}": value for key, value in settings.items()}
    environment |= {"HEADWORKS_MODELS__STORE": str(store)}
    command = [sys.executable, "-m", "headworks.server.cli", "serve", "--port", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--http-port", str(http_port)], stdout=output, stderr=subprocess.STDOUT, env=environment
        )
    try:
        yield RunningGateway(process, port, http_port, log)
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_ready(gateway: RunningGateway) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and gateway.process.poll() is None:
        try:
            if httpx.get(f"{gateway.url}/readyz").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise AssertionError(f"the gateway did not become ready: {gateway.log.read_text()[-2000:]}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
