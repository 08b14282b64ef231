"""What the gateway adds to streams of tokens that it can serve.

A simulated engine with a stated timing model answers text turns through the gateway; a bare grpc.aio server with the
same contract and timing, one message a token, is the floor and the ceiling. Each runs in a process of its own, one at a
time, on the machine that the callers run on too.

Run: python -m bench.steady
"""

import argparse
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import uvloop
from rich.console import Console
from rich.table import Table

from bench.load.ramp import best_of_ramp
from bench.load.step import Plan, run_step
from bench.rounds import Callers
from bench.turn import Sample, Timing, percentile
from bench.under_test import Server

PACED = Timing(first_token_seconds=0.05, gap_seconds=0.02, tokens=64)
SHORT = Timing(first_token_seconds=0.05, gap_seconds=0.02, tokens=2)
"""For what opening a turn costs, and for one turn at a time, of which a hundred and more are needed."""
BRISK = Timing(first_token_seconds=0.05, gap_seconds=0.005, tokens=32)
UNPACED = Timing(first_token_seconds=0.0, gap_seconds=0.0, tokens=100)
UNPACED_CALLERS = 32
ROUNDS = {16: 8, 64: 5, 256: 3}
"""Of turns opened at once, by how many; about 3 s a round with a slow server."""
ALONE_TURNS = 150
TOGETHER, TOGETHER_ROUNDS = 64, 20
AIM_MILLISECONDS = {1: 2, 16: 6, 64: 20}
"""Added to the 99th percentile of the first token, of turns opened at once."""
AIM_SHARE = 2.0
AIM_TURN_MILLISECONDS = 1.2
PLAIN_WIDTH = 200
"""Of tables that do not go to a terminal."""


@dataclass(frozen=True, slots=True)
class Paced:
    """One pattern of paced turns."""

    sample: Sample
    server_milliseconds: float
    """CPU time of the server for one turn."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Tokens per second at the server's best."""

    brisk: float
    unpaced: float


def paced(kind: str, scale: float, most: int) -> dict[tuple[str, int], Paced]:
    """Return what callers saw of one server, by how turns were opened and how many."""
    found: dict[tuple[str, int], Paced] = {}
    with Server(kind, SHORT) as server:
        found["alone", 1] = _run(server, 1, lambda callers: callers.at_once(_scaled(ALONE_TURNS, scale)))
        rounds = _scaled(TOGETHER_ROUNDS, scale)
        found["short", TOGETHER] = _run(server, TOGETHER, lambda callers: callers.at_once(rounds))
    with Server(kind, PACED) as server:
        for count, rounds in ROUNDS.items():
            if count > most:
                continue
            for_all = _scaled(rounds, scale)
            found["at once", count] = _run(server, count, lambda callers, n=for_all: callers.at_once(n))
            found["at random", count] = _run(server, count, lambda callers: callers.at_random(PACED, 8 * scale))
    return found


def rates(kind: str, scale: float) -> Rates:
    """Return how many tokens per second a server gives at its best."""
    plan = Plan(BRISK, warm_seconds=scale, seconds=2 * scale)
    with Server(kind, BRISK) as server:
        brisk = best_of_ramp(server, plan)
    with Server(kind, UNPACED) as server:
        plan = Plan(UNPACED, warm_seconds=2 * scale, seconds=5 * scale, deadline_seconds=30.0)
        unpaced = run_step(server, plan, UNPACED_CALLERS).seen.tokens_per_second
    return Rates(brisk, unpaced)


def _run(server: Server, count: int, work: Callable[[Callers], Coroutine[Any, Any, Sample]]) -> Paced:
    async def measure() -> Paced:
        async with Callers(server.port, count) as callers:
            before = server.cpu_seconds()
            sample = await work(callers)
            used = server.cpu_seconds() - before
        return Paced(sample, 1000 * used / max(1, len(sample.first)))

    return uvloop.run(measure())


def _scaled(rounds: int, scale: float) -> int:
    return max(1, round(rounds * scale))


def latency_table(bare: dict[tuple[str, int], Paced], ours: dict[tuple[str, int], Paced]) -> Table:
    """Return what the gateway adds, one line for each way to open turns."""
    table = Table(title="bare / gateway, p99 in ms, and what the gateway adds; gaps with and without those of 0")
    columns = ("opened", "turns at once", "turns", "first token p50", "first token p99", "added", "aim", "gap p99")
    for name in (*columns, "added", "gap p99 between messages", "added", "tokens a message", "failed"):
        table.add_column(name, justify="right")
    for (how, count), floor in bare.items():
        if how == "short":
            continue
        one, other = floor.sample, ours[how, count].sample
        aim = str(AIM_MILLISECONDS.get(count, "-")) if how != "at random" else ""
        table.add_row(
            *(how, str(count), f"{len(one.first)} / {len(other.first)}", _both(one.first, other.first, 50)[0]),
            *(*_both(one.first, other.first, 99), aim, *_both(one.gaps, other.gaps, 99)),
            *_both(one.gaps_between_messages(), other.gaps_between_messages(), 99),
            *(f"{_tokens_a_message(one):.2f} / {_tokens_a_message(other):.2f}", f"{one.failed} / {other.failed}"),
        )
    return table


def cost_table(bare: dict[tuple[str, int], Paced], ours: dict[tuple[str, int], Paced]) -> Table:
    """Return what a turn costs the server."""
    table = Table(title="CPU of the server for one turn: a text of two sentences, an answer of two tokens")
    for name in ("turns at once", "bare, ms", "gateway, ms", "aim"):
        table.add_column(name, justify="right")
    for key in (("alone", 1), ("short", TOGETHER)):
        floor, other = bare[key].server_milliseconds, ours[key].server_milliseconds
        table.add_row(str(key[1]), f"{floor:.2f}", f"{other:.2f}", f"{AIM_TURN_MILLISECONDS}")
    return table


def rates_table(bare: Rates, ours: Rates) -> Table:
    """Return tokens per second beside the ceiling."""
    table = Table(title="tokens per second, and the share of bare grpc.aio's")
    for name in ("pace", "bare", "gateway", "share", "aim"):
        table.add_column(name, justify="right")
    pace = f"a token each {1000 * BRISK.gap_seconds:g} ms, best of a ramp"
    for name, floor, other in (
        (pace, bare.brisk, ours.brisk),
        (f"none, {UNPACED_CALLERS} at once", bare.unpaced, ours.unpaced),
    ):
        share = f"{other / floor:.2f}" if floor else "-"
        table.add_row(name, f"{floor:,.0f}", f"{other:,.0f}", share, f"{AIM_SHARE}")
    return table


def _both(one: list[float], other: list[float], share: float) -> tuple[str, str]:
    floor, reached = percentile(one, share), percentile(other, share)
    return f"{floor:.1f} / {reached:.1f}", f"{reached - floor:.1f}"


def _tokens_a_message(sample: Sample) -> float:
    messages = len(sample.first) + len(sample.gaps_between_messages())
    return sample.tokens / max(1, messages)


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--scale", type=float, default=1.0, help="length of each load, times the usual (default 1)")
    arguments.add_argument("--most", type=int, default=256, help="turns at once, paced (default 256)")
    given = arguments.parse_args()
    scale = given.scale
    bare, ours = (paced(kind, scale, given.most) for kind in ("bare", "gateway"))
    ceiling, reached = (rates(kind, scale) for kind in ("bare", "gateway"))
    console = Console()
    if not console.is_terminal:
        console = Console(width=PLAIN_WIDTH)
    for table in (latency_table(bare, ours), cost_table(bare, ours), rates_table(ceiling, reached)):
        console.print(table)


if __name__ == "__main__":
    main()
