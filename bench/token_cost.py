"""What one more token of an answer costs a server.

Short answers and long ones are read to their end, and what the server used for both is taken from each other, so that
what a turn costs by itself drops out. The engine's tokens come each 5 ms: with few callers each goes out as a message
of its own; with many the server is behind, and may join them. The gateway, a bare grpc.aio server with the same
contract, and SMG's servicer for vLLM, where `smg-grpc-servicer` is installed, have the same timing model behind them.

Run: python -m bench.token_cost
"""

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import uvloop
from rich.console import Console
from rich.table import Table

from bench.allocations import Allocations, make_file
from bench.reader import Reader, Received
from bench.turn import Timing
from bench.under_test import Server
from bench.wire import Converse, Wire

SHORT, LONG = 8, 136
TIMING = Timing(first_token_seconds=0.01, gap_seconds=0.005, tokens=LONG)
KINDS = ("bare", "gateway", "smg")
FEW, MANY = 8, 64
TURNS = {FEW: (60, 8), MANY: (30, 6)}
"""Of one caller, short and long."""
ID_BYTES = 8
"""Of a token id in a tuple: a pointer, since small numbers are shared."""
FRAME_BYTES = 5 + 9
"""gRPC's prefix of a message, and the header of its HTTP/2 frame."""
PLAIN_WIDTH = 200
"""Of tables that do not go to a terminal."""


@dataclass(frozen=True, slots=True)
class Used:
    """What some turns took, each for one turn, or what one token takes."""

    tokens: float
    messages: float
    text_bytes: float
    message_bytes: float
    loopback_bytes: float
    cpu_microseconds: float
    allocations: float
    allocated_bytes: float

    def by_token(self, other: "Used") -> "Used":
        """Return what each token takes that this has more than the other."""
        more = self.tokens - other.tokens
        values = ((getattr(self, name) - getattr(other, name)) / more for name in self.__slots__)
        return Used(*values)


@dataclass(frozen=True, slots=True)
class Meter:
    """What a server has used since it started."""

    cpu_seconds: float
    allocations: Allocations
    loopback_bytes: int

    @classmethod
    def read(cls, server: Server, file: Path) -> "Meter":
        return cls(server.cpu_seconds(), Allocations.read(file), loopback_bytes())

    def used_for(self, received: Received, after: "Meter") -> Used:
        """Return what each turn took from this moment until another."""
        turns = max(1, received.turns)
        return Used(
            received.tokens / turns,
            received.messages / turns,
            received.text_bytes / turns,
            received.message_bytes / turns,
            (after.loopback_bytes - self.loopback_bytes) / turns,
            1e6 * (after.cpu_seconds - self.cpu_seconds) / turns,
            (after.allocations.calls - self.allocations.calls) / turns,
            (after.allocations.size_bytes - self.allocations.size_bytes) / turns,
        )


def loopback_bytes() -> int:
    """Return what has gone over this machine's loopback: both ways, with the headers of TCP and IP."""
    for line in Path("/proc/net/dev").read_text(encoding="ascii").splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == "lo":
            return int(numbers.split()[0])
    raise RuntimeError("this machine has no loopback")


def wire_of(kind: str) -> Wire:
    """Return the contract that a server speaks."""
    if kind != "smg":
        return Converse()
    from bench.smg.wire import Generate  # installed where a reader wants it measured

    return Generate()


@contextmanager
def counting(kind: str, wire: Wire) -> Iterator[tuple[Server, Path]]:
    """Serve with allocations counted; yield the server and the file that they are counted into."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "allocations"
        make_file(file)
        with Server(kind, TIMING, "--count-allocations", str(file), wire=wire) as server:
            yield server, file


def measure(kind: str, scale: float) -> dict[int, tuple[Used, int]]:
    """Return what a token costs, and how many turns failed, by how many callers there were."""
    wire = wire_of(kind)
    with counting(kind, wire) as (server, file):

        async def by_callers(callers: int) -> tuple[Used, int]:
            used: list[Used] = []
            failed = 0
            async with Reader(server.port, wire) as reader:
                await reader.read(callers, 2, SHORT)
                for tokens, turns in zip((SHORT, LONG), TURNS[callers], strict=True):
                    before = Meter.read(server, file)
                    received = await reader.read(callers, max(1, round(turns * scale)), tokens)
                    used.append(before.used_for(received, Meter.read(server, file)))
                    failed += received.failed
            return used[1].by_token(used[0]), failed

        return {callers: uvloop.run(by_callers(callers)) for callers in TURNS}


def table_of(found: dict[str, dict[int, tuple[Used, int]]]) -> Table:
    """Return one line for each server and number of callers."""
    table = Table(title=f"one more token, by the difference between answers of {LONG} and of {SHORT} tokens")
    columns = ("server", "callers", "messages", "tokens a message", "CPU, us", "allocations", "bytes allocated")
    for name in (*columns, "ids, bytes", "text", "protobuf", "framed", "loopback", "failed turns"):
        table.add_column(name, justify="right")
    for kind, by_callers in found.items():
        for callers, (token, failed) in by_callers.items():
            framed = token.message_bytes + FRAME_BYTES * token.messages
            table.add_row(
                *(kind, str(callers), f"{token.messages:.2f}", f"{1 / token.messages:.2f}"),
                *(f"{token.cpu_microseconds:.0f}", f"{token.allocations:.0f}", f"{token.allocated_bytes:,.0f}"),
                *(str(ID_BYTES), f"{token.text_bytes:.1f}", f"{token.message_bytes:.1f}", f"{framed:.1f}"),
                *(f"{token.loopback_bytes:.0f}", str(failed)),
            )
    return table


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--kinds", default=",".join(KINDS), help=f"servers (default {','.join(KINDS)})")
    arguments.add_argument("--scale", type=float, default=1.0, help="turns, times the usual (default 1)")
    given = arguments.parse_args()
    kinds = given.kinds.split(",")
    has_smg = find_spec("smg_grpc_servicer") is not None
    console = Console()
    if not console.is_terminal:
        console = Console(width=PLAIN_WIDTH)
    console.print(table_of({kind: measure(kind, given.scale) for kind in kinds if kind != "smg" or has_smg}))
    if "smg" in kinds and not has_smg:
        console.print("SMG's servicer was left out: smg-grpc-servicer is not installed.")


if __name__ == "__main__":
    main()
