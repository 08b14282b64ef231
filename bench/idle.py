"""What open turns that say nothing cost: memory for each, and time for those that are busy.

The gateway runs in a process of its own, with its limits on silent calls raised. Callers open turns, send their setup,
wait until it is accepted, and say nothing more; busy ones beside them ask and are answered at the engine's stated pace.

Run: python -m bench.idle
"""

import argparse
import asyncio
import os
import re
import resource
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import uvloop
from rich.console import Console
from rich.table import Table

from bench.turn import Sample, Timing, percentile, turn
from headworks.v1 import turn_pb2 as pb
from headworks.v1.turn_pb2_grpc import TurnServiceStub

PACED = Timing(first_token_seconds=0.05, gap_seconds=0.02, tokens=64)
PER_CHANNEL = 100
"""Calls on one connection; the server allows 128."""
OPENING_AT_ONCE = 50
SETTLING_SECONDS = 2.0
SPARE_DESCRIPTORS = 256
LIFE_SECONDS = 600.0
"""How long an idle turn may stay: longer than the measurement."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """The server under test."""

    port: int
    pid: int

    @property
    def resident_bytes(self) -> int:
        """Return what it holds of memory now."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        return 1024 * int(found[1]) if found else 0


@contextmanager
def gateway(idle: int) -> Iterator[Gateway]:
    """Serve with room for so many silent calls, and stop at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    limits = dict.fromkeys(("MAX_SILENT_CALLS", "MAX_TENANT_SILENT_CALLS", "MAX_PEER_SILENT_CALLS"), idle + PER_CHANNEL)
    environment = os.environ | {f"HEADWORKS_FLOW__{name}": str(value) for name, value in limits.items()}
    environment |= {
        "HEADWORKS_TURN__INPUT__IDLE_SECONDS": str(LIFE_SECONDS),
        # Else calls that come so fast are refused, since they are taken to be about to ask.
        "HEADWORKS_FLOW__LINE__INTERACTIVE_SECONDS": str(LIFE_SECONDS),
    }
    values = ("gateway", port, PACED.first_token_seconds, PACED.gap_seconds, PACED.tokens)
    command = [sys.executable, "-m", "bench.servers", *map(str, values)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield Gateway(port, process.pid)
    finally:
        process.terminate()
        process.wait(60)


def channel_to(port: int) -> grpc.aio.Channel:
    """Make a channel with a connection of its own."""
    return grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.use_local_subchannel_pool", 1)])


async def until_answering(port: int) -> None:
    """Return when a whole turn works; raise TimeoutError when none does in time."""
    async with asyncio.timeout(60), channel_to(port) as channel:
        while True:
            try:
                return await turn(TurnServiceStub(channel), Sample())
            except grpc.aio.AioRpcError:
                await asyncio.sleep(0.2)


async def busy(port: int, at_once: int, seconds: float) -> Sample:
    """Run turns, `at_once` of them in parallel, for so long; each begun turn is finished."""
    sample = Sample()
    async with channel_to(port) as channel:
        stub = TurnServiceStub(channel)
        await turn(stub, Sample())
        end = time.perf_counter() + seconds

        async def caller() -> None:
            while time.perf_counter() < end:
                await turn(stub, sample)

        await asyncio.gather(*(caller() for _ in range(at_once)))
    return sample


@asynccontextmanager
async def idle_turns(port: int, count: int) -> AsyncIterator[list[grpc.aio.StreamStreamCall]]:
    """Open so many turns that send their setup and nothing more; cancel them at the end."""
    channels = [channel_to(port) for _ in range(-(-count // PER_CHANNEL))]
    calls: list[grpc.aio.StreamStreamCall] = []
    setup = pb.ConverseRequest(setup=pb.TurnSetup())
    opening = asyncio.Semaphore(OPENING_AT_ONCE)

    async def open_one(number: int) -> None:
        async with opening:
            call = TurnServiceStub(channels[number // PER_CHANNEL]).Converse(timeout=LIFE_SECONDS)
            calls.append(call)
            await call.write(setup)
            await call.read()

    try:
        await asyncio.gather(*(open_one(number) for number in range(count)))
        yield calls
    finally:
        for call in calls:
            call.cancel()
        await asyncio.gather(*(channel.close() for channel in channels))


async def measure(server: Gateway, given: argparse.Namespace) -> Table:
    """Measure before, beside and after the idle turns."""
    table = Table(title=f"{given.busy} busy turns beside idle ones (p50 / p99, milliseconds)")
    for name in ("idle turns", "RSS, MiB", "KiB each", "first token", "gap"):
        table.add_column(name, justify="right")
    await until_answering(server.port)

    def add(name: str, sample: Sample, resident: int, each: str) -> None:
        shown = [
            f"{percentile(values, 50):.1f} / {percentile(values, 99):.1f}" for values in (sample.first, sample.gaps)
        ]
        table.add_row(name, f"{resident / 2**20:.0f}", each, *shown)

    alone = await busy(server.port, given.busy, given.seconds)
    before = server.resident_bytes
    add("none", alone, before, "-")
    async with idle_turns(server.port, given.count) as calls:
        await asyncio.sleep(SETTLING_SECONDS)
        held = server.resident_bytes
        beside = await busy(server.port, given.busy, given.seconds)
        still_open = sum(not call.done() for call in calls)
        add(f"{still_open:,}", beside, held, f"{(held - before) / 1024 / max(1, still_open):.1f}")
    await asyncio.sleep(SETTLING_SECONDS)
    after = await busy(server.port, given.busy, given.seconds)
    add("none, after", after, server.resident_bytes, "-")
    return table


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--count", type=int, default=10_000, help="idle turns (default 10,000)")
    arguments.add_argument("--busy", type=int, default=16, help="turns at once beside them (default 16)")
    arguments.add_argument("--seconds", type=float, default=6.0, help="each row (default 6)")
    given = arguments.parse_args()
    needed = given.count // PER_CHANNEL + SPARE_DESCRIPTORS
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard != resource.RLIM_INFINITY else max(needed, 4096), hard))
    with gateway(given.count) as server:
        Console().print(uvloop.run(measure(server, given)))


if __name__ == "__main__":
    main()
