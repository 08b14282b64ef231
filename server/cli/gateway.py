"""A gateway in a process of its own, for the length of a demo or a measurement."""

import asyncio
import re
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO

from rich.console import Console

from headworks.server.cli.mistake import FAILED, Mistake
from headworks.server.cli.render import printable
from headworks.server.rpc.client import CallFailed, HeadworksClient

HOST = "127.0.0.1"
START_SECONDS = 600.0
"""Until SERVING; vLLM takes 35 s here, and minutes where it compiles."""
STOP_SECONDS = 45.0
"""Until it is killed: its own drain takes at most 30.5 s."""
_POLL_SECONDS = 0.2
_LINES_KEPT = 40
_OURS = re.compile(r"^\S+ \S+ \w+ (server|engine)\.")
"""A line of the gateway's own start and end; an engine has a lot more to say, which only matters if it fails."""


@dataclass(frozen=True, slots=True)
class RunningGateway:
    """A gateway that serves."""

    pid: int
    target: str
    http_port: int
    seconds_to_serving: float


@contextmanager
def running_gateway(config: Path | None, *, is_quiet: bool = False) -> Iterator[RunningGateway]:
    """Start `headworks serve` on free loopback ports, wait until it is SERVING, and stop it in the end.

    Args:
        config: Its settings file; None for the embedded defaults.
        is_quiet: Keep its log lines to ourselves.
    Raises:
        Mistake: it ended, or did not serve in time; the sentence holds its last line.
    """
    rpc_port, http_port = _free_ports(2)
    command = [sys.executable, "-m", "headworks.server.cli", "serve", "--host", HOST]
    command += ["--port", str(rpc_port), "--http-port", str(http_port)]
    command += ["--config", str(config)] if config else []
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    started = time.monotonic()
    process = subprocess.Popen(  # noqa: S603  # our own interpreter and module
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    lines: deque[str] = deque(maxlen=_LINES_KEPT)
    assert process.stderr is not None  # noqa: S101  # it was asked for
    reader = Thread(target=_read_lines, args=(process.stderr, lines, None if is_quiet else console), daemon=True)
    reader.start()
    try:
        with console.status("starting the gateway: models, policy, engine"):
            _wait_serving(process, f"{HOST}:{rpc_port}", started, lines)
        yield RunningGateway(process.pid, f"{HOST}:{rpc_port}", http_port, time.monotonic() - started)
    finally:
        _stop(process)
        reader.join()
        process.stderr.close()


def health(target: str) -> str:
    """Return grpc.health.v1's word for a server in clear, or "" when nobody answers."""

    async def ask() -> str:
        async with HeadworksClient(target) as client:
            return await client.health()

    try:
        return asyncio.run(ask())
    except CallFailed:
        return ""


def _wait_serving(process: "subprocess.Popen[str]", target: str, started: float, lines: deque[str]) -> None:
    while health(target) != "SERVING":
        if process.poll() is not None:
            said = [line for line in lines if line.strip()]
            last = next((line for line in said if "server.failed" in line), said[-1] if said else "it said nothing")
            raise Mistake(f"The gateway did not start: {last}; see: headworks doctor", FAILED)
        if time.monotonic() - started > START_SECONDS:
            raise Mistake(f"The gateway did not serve within {START_SECONDS:.0f} s; see: headworks doctor", FAILED)
        time.sleep(_POLL_SECONDS)


def _stop(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _read_lines(stream: IO[str], lines: deque[str], console: Console | None) -> None:
    for line in stream:
        lines.append(printable(line.rstrip()))
        if console is not None and _OURS.search(lines[-1]):
            console.print(lines[-1], style="dim", soft_wrap=True)


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
