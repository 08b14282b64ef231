"""What is left of a server when far more callers come than it can serve.

The gateway with a simulated engine, and a bare grpc.aio server with the same contract and timing, are loaded in turn by
a closed loop of callers: 1, 2, 4, 8 and 16 times as many as the server just keeps up with, and 2,048. A caller hangs up
at its deadline and calls again; after a refusal it waits as long as RetryInfo says, else 100 ms doubling to 1.6 s.
Goodput counts only tokens of turns that were whole before their deadline. Servers and callers share this machine.

Run: python -m bench.overload
"""

import argparse
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from bench.load.client import MAX_CALLERS
from bench.load.outcome import State
from bench.load.ramp import best_of_ramp, callers_at
from bench.load.recovery import Recovery, recover
from bench.load.step import Plan, Step, run_step
from bench.turn import Timing, percentile
from bench.under_test import Server, cores

TIMING = Timing(first_token_seconds=0.05, gap_seconds=0.005, tokens=32)
KINDS = ("gateway", "bare")
MANY = 2048
WITNESSES = 4
"""Of the callers, in a process that does nothing else: what they see is not the queue of the load's own client."""
SHOWN_KINDS = 4
PLAIN_WIDTH = 200
"""Of tables that do not go to a terminal."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One server under all loads."""

    kind: str
    at_once: int
    """Callers at 1x."""
    steps: dict[str, Step]
    rest_mebibytes: tuple[float, float]
    """Memory before the loads and after them."""
    recovery: Recovery

    @property
    def peak(self) -> float:
        return max(step.seen.goodput for step in self.steps.values())


def measure(kind: str, plan: Plan, factors: list[int], many: int, known: int = 0) -> Curve:
    """Find where a server saturates, unless that is known, and load it beyond that."""
    with Server(kind, plan.timing) as server:
        at_once = known or callers_at(best_of_ramp(server, plan), plan)
        before = server.resident_mebibytes()
        loads = {f"{factor}x": min(MAX_CALLERS, factor * at_once) for factor in factors}
        if many:
            loads[f"{many:,} callers"] = many
        steps = {name: run_step(server, plan, callers, WITNESSES) for name, callers in loads.items()}
        recovery = recover(server, plan, at_once, max(1, (max(factors) - 1) * at_once))
        return Curve(kind, at_once, steps, (before, server.resident_mebibytes()), recovery)


def curve_table(curve: Curve) -> Table:
    """Return one line for each load."""
    title = f"{curve.kind}: 1x is {curve.at_once} callers; times are p50 / p99 in ms, as the callers saw them"
    table = Table(title=title)
    columns = ("load", "callers", "goodput tok/s", "of the peak", "first token", "refused after", "finished/s")
    for name in (*columns, "refused/s", "late", "failed", "lost", "server cores", "client cores", "client lag", "MiB"):
        table.add_column(name, justify="right")
    for name, step in curve.steps.items():
        table.add_row(name, *_cells(step, curve.peak))
    return table


def _cells(step: Step, peak: float) -> tuple[str, ...]:
    seen, states = step.seen, step.seen.states()
    rates = [f"{states[state] / seen.seconds:,.0f}" for state in (State.FINISHED, State.REFUSED)]
    calls = max(1, sum(states.values()))
    shares = [f"{100 * states[state] / calls:.1f} %" for state in (State.LATE, State.FAILED)]
    used = "+".join(f"{share:.2f}" for share in step.client_cores) + ("!" if step.is_client_bound else "")
    return (
        *(f"{step.callers:,}", f"{seen.goodput:,.0f}", f"{seen.goodput / peak:.2f}" if peak else "-"),
        *(pair(seen.first_tokens()), pair(seen.refusals()), *rates, *shares, str(step.lost)),
        *(f"{step.server_cores:.2f}", used, f"{percentile(step.lags, 99):.0f}", f"{step.resident_mebibytes:.0f}"),
    )


def witness_table(curves: list[Curve]) -> Table:
    """Return what the few callers saw whose own process was idle."""
    table = Table(title=f"as {WITNESSES} callers in an idle process saw it (p50 / p99 ms)")
    for name in ("server", "load", "finished", "refused", "first token", "refused after"):
        table.add_column(name, justify="right")
    for curve in curves:
        for name, step in curve.steps.items():
            seen, states = step.witnessed, step.witnessed.states()
            counts = (str(states[State.FINISHED]), str(states[State.REFUSED]))
            table.add_row(curve.kind, name, *counts, pair(seen.first_tokens()), pair(seen.refusals()))
    return table


def kinds_table(curves: list[Curve]) -> Table:
    """Return how calls ended that did not finish."""
    table = Table("server", "load", "share of all calls", title="how calls ended that did not finish")
    for curve in curves:
        for name, step in curve.steps.items():
            calls = max(1, len(step.seen.outcomes))
            common = step.seen.kinds().most_common(SHOWN_KINDS)
            shares = [f"{kind} {100 * count / calls:.1f} %" for kind, count in common]
            table.add_row(curve.kind, name, "; ".join(shares) or "none")
    return table


def summary_table(curves: list[Curve]) -> Table:
    """Return the figures that have an aim."""
    table = Table(title="kept, by the highest load; recovery by windows of half a second")
    columns = ("server", "kept of the peak (aim 0.95)", "first token p99, times its value at 1x (aim 1.5)")
    columns += ("refused after, p99 ms (aim 10)", "memory before / highest / after, MiB", "full again after, s (aim 2)")
    for name in columns:
        table.add_column(name, justify="right")
    for curve in curves:
        factors = [step for name, step in curve.steps.items() if name.endswith("x")]
        first, last = factors[0], factors[-1]
        stretch = percentile(last.seen.first_tokens(), 99) / percentile(first.seen.first_tokens(), 99)
        highest = max(step.resident_mebibytes for step in curve.steps.values())
        seconds = curve.recovery.seconds
        table.add_row(
            *(curve.kind, f"{last.seen.goodput / curve.peak:.2f}" if curve.peak else "-", f"{stretch:.2f}"),
            f"{percentile(last.seen.refusals(), 99):.1f}" if last.seen.refusals() else "none refused",
            f"{curve.rest_mebibytes[0]:.0f} / {highest:.0f} / {curve.rest_mebibytes[1]:.0f}",
            f"{seconds:.1f}" if seconds is not None else f"not in {len(curve.recovery.after) / 2:.0f}",
        )
    return table


def pair(values: list[float]) -> str:
    """Return the median and the 99th percentile in milliseconds."""
    return f"{percentile(values, 50):,.0f} / {percentile(values, 99):,.0f}" if values else "-"


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog='"!" marks a client process that used nearly a whole core: the client was then the limit.',
    )
    arguments.add_argument("--kinds", default=",".join(KINDS), help=f"servers (default {','.join(KINDS)})")
    arguments.add_argument("--factors", default="1,2,4,8,16", help="times saturation (default 1,2,4,8,16)")
    arguments.add_argument("--many", type=int, default=MANY, help="one more load, 0 for none (default 2,048 callers)")
    arguments.add_argument("--at-once", type=int, default=0, help="callers at 1x (default: found by a ramp)")
    arguments.add_argument("--seconds", type=float, default=6.0, help="each load (default 6)")
    arguments.add_argument("--warm", type=float, default=3.0, help="seconds left out before each (default 3)")
    usual = max(1, min(2, cores() - 1))
    arguments.add_argument("--clients", type=int, default=usual, help=f"client processes (default here {usual})")
    given = arguments.parse_args()
    plan = Plan(TIMING, given.warm, given.seconds, clients=given.clients)
    factors = [int(factor) for factor in given.factors.split(",")]
    curves = [measure(kind, plan, factors, given.many, given.at_once) for kind in given.kinds.split(",")]
    console = Console()
    if not console.is_terminal:
        console = Console(width=PLAIN_WIDTH)
    for table in (*map(curve_table, curves), witness_table(curves), kinds_table(curves), summary_table(curves)):
        console.print(table)


if __name__ == "__main__":
    main()
