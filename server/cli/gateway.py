"""A gateway in a process of its own, for the length of a demo or a measurement."""

import asyncio
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from headworks.server.cli.mistake import FAILED, Mistake
from headworks.server.cli.render import is_screen, printable
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
_LISTENING = re.compile(r" server\.listening grpc=(\S+) http=(\S+)")


@dataclass(frozen=True, slots=True)
class RunningGateway:
    """A gateway that serves."""

    process: "subprocess.Popen[bytes]"
    target: str
    """Where it serves gRPC."""
    http: str
    """Where it serves HTTP, as host:port."""
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
    command = [sys.executable, "-m", "headworks.server.cli", "serve", "--log-level", "info"]
    command += ["--host", HOST, "--port", "0", "--http-port", "0"]
    command += ["--config", str(config)] if config else []
    console = Console(stderr=True, highlight=False, markup=False, emoji=False, quiet=is_quiet)
    with tempfile.NamedTemporaryFile(prefix="headworks-", suffix=".log", delete=False) as output:
        log = Path(output.name)
        console.print(f"Starting a gateway; its log is {log}", soft_wrap=True)
        started = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)  # noqa: S603  # ours
    try:
        with console.status("models, policy, engine") if is_screen(console) else nullcontext():
            target, http = _wait_serving(process, started, log, console)
        yield RunningGateway(process, target, http, log, time.monotonic() - started)
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


def _wait_serving(process: "subprocess.Popen[bytes]", started: float, log: Path, console: Console) -> tuple[str, str]:
    """Return its addresses for gRPC and HTTP, once it serves."""
    told: set[str] = set()
    addresses = ("", "")

    def look() -> None:
        nonlocal addresses
        said = _tail(log)
        for found in _LISTENING.findall(said):
            addresses = found
        for part in _READY.findall(said):
            if part not in told:
                told.add(part)
                console.print(f"{part} ready after {time.monotonic() - started:.0f} s", style="dim")

    while not addresses[0] or health(addresses[0]) != "SERVING":
        if process.poll() is not None:
            raise Mistake(f"The gateway did not start: {_last_word(log)}; see: headworks doctor", FAILED)
        if time.monotonic() - started > START_SECONDS:
            raise Mistake(f"The gateway did not serve within {START_SECONDS:.0f} s; see: headworks doctor", FAILED)
        look()
        time.sleep(_POLL_SECONDS)
    look()
    return addresses


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
