"""A gateway in a process of its own, for as long as a demo or a measurement takes."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from rich.console import Console

from headworks.server.cli.mistake import FAILED, Mistake
from headworks.server.cli.render import is_screen, printable
from headworks.server.client.client import CallFailed, HeadworksClient

HOST = "127.0.0.1"
START_SECONDS = 600.0
"""How long a gateway may take until it serves; vLLM takes half a minute on two cores, and minutes if it compiles."""
STOP_SECONDS = 45.0
"""How long a gateway may take to end before it is killed; by default it drains for at most 30.5 s."""
HURRY_SECONDS = 8.0
"""The same after a second Ctrl-C: turns are cut at once, and vLLM's core may take 5 s to end."""
_POLL_SECONDS = 0.2
_TAIL_BYTES = 16_384
"""How much of the end of its log is read at a time; an engine may write a lot there."""
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
    signals: list[int]
    """Those that came to end us; where one comes while an object is let go of, Python drops the exception it raised."""

    def wait(self) -> None:
        """Wait for Ctrl-C, then return.

        Raises:
            Mistake: the gateway ended by itself; the sentence holds its last line.
        """
        try:
            while self.process.poll() is None:
                if self.signals:
                    raise _exception_of(self.signals[0])
                time.sleep(_POLL_SECONDS)
        except KeyboardInterrupt:
            return
        raise Mistake(f"The gateway ended by itself: {_last_word(self.log)}; its log: {self.log}", FAILED)


@contextmanager
def running_gateway(config: Path | None, *, is_quiet: bool = False) -> Iterator[RunningGateway]:
    """Start `headworks serve` on free loopback ports, wait until it is SERVING, and stop it in the end.

    All that the gateway and its engine print goes to a file, which is kept.

    Args:
        config: Its settings file; None for the embedded defaults.
        is_quiet: Do not print where the log is and how far the start has come.
    Raises:
        Mistake: the gateway ended, or did not serve in time; the sentence holds its last line.
    """
    command = [sys.executable, "-m", "headworks.server.cli", "serve", "--log-level", "info"]
    command += ["--host", HOST, "--port", "0", "--http-port", "0"]
    command += ["--config", str(config)] if config else []
    console = Console(stderr=True, highlight=False, markup=False, emoji=False, quiet=is_quiet)
    with tempfile.NamedTemporaryFile(prefix="headworks-", suffix=".log", delete=False) as output:
        log = Path(output.name)
        console.print(f"Starting a gateway; its log is {log}", soft_wrap=True)
        started = time.monotonic()
        # It gets a process group of its own, so that a terminal's Ctrl-C comes to us alone and we choose how it ends.
        process = subprocess.Popen(  # noqa: S603  # ours
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, process_group=0
        )
    with _signals_end_us() as signals:
        try:
            with console.status("models, policy, engine") if is_screen(console) else nullcontext():
                target, http = _wait_serving(process, started, log, console)
            yield RunningGateway(process, target, http, log, time.monotonic() - started, signals)
        except KeyboardInterrupt:
            _cut(process)
            raise
        finally:
            _stop(process, signals)


@contextmanager
def _signals_end_us() -> Iterator[list[int]]:
    """Let Ctrl-C, SIGTERM and SIGHUP raise, so that the gateway is stopped; what `nohup` ignores stays ignored.

    Yields the signals that came.
    """
    came: list[int] = []

    def leave(number: int, _: FrameType | None) -> None:
        came.append(number)
        raise _exception_of(number)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    before = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, leave)
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _exception_of(number: int) -> BaseException:
    return KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number)  # as shells count


def health(target: str) -> str:
    """Ask a server without TLS for its health; return the word of grpc.health.v1, or "" when nobody answers."""

    async def ask() -> str:
        async with HeadworksClient(target) as client:
            return await client.health()

    try:
        return asyncio.run(ask())
    except CallFailed:
        return ""


def _wait_serving(process: "subprocess.Popen[bytes]", started: float, log: Path, console: Console) -> tuple[str, str]:
    """Wait until the gateway serves; return its addresses for gRPC and HTTP."""
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
    """Return the gateway's sentence on why it failed, or else its last line."""
    said = [printable(line) for line in _tail(log).splitlines() if line.strip()]
    return next((line for line in said if "server.failed" in line), said[-1] if said else "it said nothing")


def _tail(log: Path) -> str:
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - _TAIL_BYTES))
        return stream.read().decode(errors="replace")


def _stop(process: "subprocess.Popen[bytes]", signals: list[int]) -> None:
    """Let the gateway drain; if it does not end in time, kill it and its engine.

    Raises:
        KeyboardInterrupt, SystemExit: a second signal came; the gateway's turns were cut.
    """
    try:
        process.terminate()
        until = time.monotonic() + STOP_SECONDS
        while process.poll() is None and time.monotonic() < until:
            if len(signals) > 1:
                raise _exception_of(signals[1])
            time.sleep(_POLL_SECONDS)
    except (KeyboardInterrupt, SystemExit):
        _cut(process)
        raise
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _cut(process: "subprocess.Popen[bytes]") -> None:
    """End the gateway without waiting for its turns. That takes two signals; two of one kind could arrive as one."""
    process.send_signal(signal.SIGINT)
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(HURRY_SECONDS)
