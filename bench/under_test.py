"""A server under test: `python -m bench.servers` in a process of its own, and what that process uses."""

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import grpc

from bench.turn import MOST_TOKENS, Timing
from bench.wire import Converse, Wire

START_SECONDS = 60.0
STOP_SECONDS = 30.0
_TRY_SECONDS = 5.0
_LOOK_SECONDS = 0.2


class Server:
    """One server, from its first answered turn until it is told to stop."""

    def __init__(self, kind: str, timing: Timing, *options: str, wire: Wire | None = None) -> None:
        """Prepare a server.

        Args:
            kind: One of the kinds that `bench.servers` knows.
            options: Further options of `bench.servers`.
            wire: Its contract, ours unless it has one of its own.
        """
        self._wire = wire or Converse()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        values = (kind, self.port, timing.first_token_seconds, timing.gap_seconds, timing.tokens)
        command = [sys.executable, "-m", "bench.servers", *map(str, values), *options]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self) -> "Server":
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            if _answers(self.port, self._wire):
                return self
            time.sleep(_LOOK_SECONDS)
        self.__exit__()
        raise RuntimeError("the server under test did not start")

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(STOP_SECONDS)

    @property
    def pid(self) -> int:
        return self._process.pid

    def cpu_seconds(self) -> float:
        """Return the CPU time of all its threads since it started."""
        return cpu_seconds(self.pid)

    def resident_mebibytes(self) -> float:
        """Return what it holds of memory now."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        return int(found[1]) / 1024 if found else 0.0


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process, to the nanosecond.

    Source:
        clock_getcpuclockid(3); glibc makes the clock's number so, in kernel-posix-cpu-timers.h.
    """
    return time.clock_gettime((~pid << 3) | 2)


def _answers(port: int, wire: Wire) -> bool:
    """Whether a whole turn works."""
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        call = channel.stream_stream(wire.method)
        try:
            for _ in call(iter(wire.requests(MOST_TOKENS)), timeout=_TRY_SECONDS):
                pass
        except grpc.RpcError:
            return False
    return True


def cores() -> int:
    """Return how many CPUs this process may use."""
    return len(os.sched_getaffinity(0))
