"""What the gateway adds to a stream of tokens.

A simulated engine with a stated timing model answers text turns through the gateway; a bare grpc.aio server with the
same timing model, one message a token, is the ceiling. Both run in processes of their own, one at a time, on the
machine that the client runs on too.

Run: python -m bench.turn
"""

import argparse
import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import grpc
import numpy as np
import uvloop
from rich.console import Console
from rich.table import Table

from headworks.v1 import turn_pb2 as pb
from headworks.v1.turn_pb2_grpc import TurnServiceStub

QUESTION = "How many orders did we ship in March?"
START_SECONDS = 60.0
AIM_MILLISECONDS = {1: 3, 16: 15, 64: 60}
AIM_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Timing:
    """The timing model that both servers follow, and the length of an answer."""

    first_token_seconds: float
    gap_seconds: float
    tokens: int


PACED = Timing(first_token_seconds=0.05, gap_seconds=0.02, tokens=64)
SATURATED = Timing(first_token_seconds=0.0, gap_seconds=0.0, tokens=512)


@dataclass(slots=True)
class Sample:
    """What the client saw."""

    first: list[float] = field(default_factory=list)
    """Seconds from the call to the first token, one per turn."""
    gaps: list[float] = field(default_factory=list)
    """Seconds between tokens; tokens that come in one message have none between them."""
    tokens: int = 0
    seconds: float = 0.0


class Server:
    """`python -m bench.servers` in a process of its own."""

    def __init__(self, kind: str, timing: Timing) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        values = (kind, self.port, timing.first_token_seconds, timing.gap_seconds, timing.tokens)
        command = [sys.executable, "-m", "bench.servers", *map(str, values)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self) -> "Server":
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0 and asyncio.run(is_answering(self.port)):
                    return self
            time.sleep(0.2)
        self.__exit__()
        raise RuntimeError("the server under test did not start")

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(30)


async def is_answering(port: int) -> bool:
    """Whether a whole turn works."""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        try:
            await turn(TurnServiceStub(channel), Sample())
        except grpc.aio.AioRpcError:
            return False
    return True


async def requests() -> AsyncIterator[pb.ConverseRequest]:
    yield pb.ConverseRequest(setup=pb.TurnSetup(generation=pb.Generation(max_output_tokens=2048)))
    yield pb.ConverseRequest(text=pb.TextChunk(text=QUESTION, last=True))
    yield pb.ConverseRequest(end_of_input=pb.EndOfInput())


async def turn(stub: TurnServiceStub, sample: Sample) -> None:
    """Run one turn and note when each token came."""
    started = last = time.perf_counter()
    is_first = True
    async for response in stub.Converse(requests(), timeout=120):
        count = len(response.delta.token_ids)
        if not count:
            continue
        now = time.perf_counter()
        if is_first:
            sample.first.append(now - started)
            is_first = False
        else:
            sample.gaps.append(now - last)
        sample.gaps.extend([0.0] * (count - 1))
        sample.tokens += count
        last = now


async def load(port: int, at_once: int, rounds: int) -> Sample:
    """Run `at_once` callers, each `rounds` turns one after the other, on four connections."""
    sample = Sample()
    channels = [
        grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.use_local_subchannel_pool", 1)])
        for _ in range(min(4, at_once))
    ]

    async def caller(number: int) -> None:
        stub = TurnServiceStub(channels[number % len(channels)])
        for _ in range(rounds):
            await turn(stub, sample)

    await asyncio.gather(*(turn(TurnServiceStub(channel), Sample()) for channel in channels))
    started = time.perf_counter()
    await asyncio.gather(*(caller(number) for number in range(at_once)))
    sample.seconds = time.perf_counter() - started
    await asyncio.gather(*(channel.close() for channel in channels))
    return sample


def measure(kind: str, timing: Timing, runs: dict[int, int]) -> dict[int, Sample]:
    """Return one sample for each number of callers."""
    with Server(kind, timing) as server:
        return {at_once: uvloop.run(load(server.port, at_once, rounds)) for at_once, rounds in runs.items()}


def percentile(values: list[float], share: float) -> float:
    """In milliseconds."""
    return float(np.percentile(values, share)) * 1000


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rounds", type=int, default=6, help="turns a caller, paced (default 6)")
    rounds = arguments.parse_args().rounds
    # One caller alone makes as many turns as sixteen: of 24 the 99th percentile was the slowest.
    runs = {1: rounds * 16, 16: rounds, 64: rounds}
    bare, ours = measure("bare", PACED, runs), measure("gateway", PACED, runs)
    table = Table(title="Added by the gateway, milliseconds (p50 / p99 over the bare stream's)")
    for name in ("at once", "first token, bare", "first token, gateway", "added p99", "gap added p99", "aim"):
        table.add_column(name, justify="right")
    for at_once in runs:
        one, other = bare[at_once], ours[at_once]
        table.add_row(
            str(at_once),
            f"{percentile(one.first, 50):.1f} / {percentile(one.first, 99):.1f}",
            f"{percentile(other.first, 50):.1f} / {percentile(other.first, 99):.1f}",
            f"{percentile(other.first, 99) - percentile(one.first, 99):.1f}",
            f"{percentile(other.gaps, 99) - percentile(one.gaps, 99):.1f}",
            f"{AIM_MILLISECONDS[at_once]}",
        )
    console = Console()
    console.print(table)
    flood = {64: 3}
    ceiling = measure("bare", SATURATED, flood)[64]
    reached = measure("gateway", SATURATED, flood)[64]
    rates = ceiling.tokens / ceiling.seconds, reached.tokens / reached.seconds
    saturation = Table("at saturation, 64 at once", "tokens per second", "share", "aim")
    saturation.add_row("bare grpc.aio, one message a token", f"{rates[0]:.0f}", "1.00", "")
    saturation.add_row("gateway", f"{rates[1]:.0f}", f"{rates[1] / rates[0]:.2f}", f"{AIM_SHARE}")
    console.print(saturation)


if __name__ == "__main__":
    main()
