"""A gateway in a process of its own, for the length of a demo or a measurement."""

import asyncio
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from headworks.server.cli.mistake import FAILED, Mistake
from headworks.server.cli.render import printable
from headworks.server.client.client import CallFailed, HeadworksClient

HOST = "127.0.0.1"
START_SECONDS = 600.0
"""Until SERVING; vLLM takes 35 s here, and minutes where it compiles."""
STOP_SECONDS = 45.0
"""Until it is killed: its own drain takes at most 30.5 s."""
_POLL_SECONDS = 0.2
_TAIL_BYTES = 16_384
"""Of its log, looked at while it starts and when it fails; an engine has a lot to say."""
_READY = re.compile(r" server\.ready part=(\w+)")


@dataclass(frozen=True, slots=True)
class RunningGateway:
    """A gateway that serves."""

    process: "subprocess.Popen[bytes]"
    target: str
    http_port: int
    log: Path
    seconds_to_serving: float

    def wait(self) -> None:
        """Return at Ctrl-C.

        Raises:
            Mistake: it ended by itself; the sentence holds its last line.
        """
        try:
            self.process.wait()
        except KeyboardInterrupt:
            return
        raise Mistake(f"The gateway ended by itself: {_last_word(self.log)}; its log: {self.log}", FAILED)


@contextmanager
def running_gateway(config: Path | None, *, is_quiet: bool = False) -> Iterator[RunningGateway]:
    """Start `headworks serve` on free loopback ports, wait until it is SERVING, and stop it in the end.

    All that it and its engine say goes to a file, which stays.

    Args:
        config: Its settings file; None for the embedded defaults.
        is_quiet: Say neither where the log is nor how far the start is.
    Raises:
        Mistake: it ended, or did not serve in time; the sentence holds its last line.
    """
    rpc_port, http_port = _free_ports(2)
    command = [sys.executable, "-m", "headworks.server.cli", "serve", "--host", HOST]
    command += ["--port", str(rpc_port), "--http-port", str(http_port)]
    command += ["--config", str(config)] if config else []
    console = Console(stderr=True, highlight=False, markup=False, emoji=False, quiet=is_quiet)
    with tempfile.NamedTemporaryFile(prefix="headworks-", suffix=".log", delete=False) as output:
        log = Path(output.name)
        console.print(f"Starting a gateway; its log is {log}", soft_wrap=True)
        started = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)  # noqa: S603  # ours
    target = f"{HOST}:{rpc_port}"
    try:
        with console.status("models, policy, engine"):
            _wait_serving(process, target, started, log, console)
        yield RunningGateway(process, target, http_port, log, time.monotonic() - started)
    finally:
        _stop(process)


def health(target: str) -> str:
    """Return grpc.health.v1's word for a server in clear, or "" when nobody answers."""

    async def ask() -> str:
        async with HeadworksClient(target) as client:
            return await client.health()

    try:
        return asyncio.run(ask())
    except CallFailed:
        return ""


def _wait_serving(process: "subprocess.Popen[bytes]", target: str, started: float, log: Path, console: Console) -> None:
    told: set[str] = set()

    def tell() -> None:
        for part in _READY.findall(_tail(log)):
            if part not in told:
                told.add(part)
                console.print(f"{part} ready after {time.monotonic() - started:.0f} s", style="dim")

    while health(target) != "SERVING":
        if process.poll() is not None:
            raise Mistake(f"The gateway did not start: {_last_word(log)}; see: headworks doctor", FAILED)
        if time.monotonic() - started > START_SECONDS:
            raise Mistake(f"The gateway did not serve within {START_SECONDS:.0f} s; see: headworks doctor", FAILED)
        tell()
        time.sleep(_POLL_SECONDS)
    tell()


def _last_word(log: Path) -> str:
    """Its own sentence on why it failed, else its last line."""
    said = [printable(line) for line in _tail(log).splitlines() if line.strip()]
    return next((line for line in said if "server.failed" in line), said[-1] if said else "it said nothing")


def _tail(log: Path) -> str:
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - _TAIL_BYTES))
        return stream.read().decode(errors="replace")


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_ports(count: int) -> list[int]:
    """Ask the kernel; all are held until all are known, so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind((HOST, 0))
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()
