"""A light tenant beside heavy ones, under each order, through the gateway's own admission, in virtual time.

Run: python -m bench.fairness
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from bench.fairness.experiment import MakeDoor, Result, Tenant, run
from bench.fairness.flow_control import FlowControl
from bench.fairness.gateway import Gateway
from headworks.server.flow.fairness.settings import FairnessSettings, OrderKind
from headworks.server.flow.settings import FlowSettings, LimitSettings, LineSettings

AIM_STRETCH, AIM_JAIN = 1.3, 0.97
PLACES = 16
BANK = 4000.0
"""Three turns of the light tenant."""
SHORT = LineSettings()
LONG = LineSettings(interactive_seconds=600.0, standing_seconds=600.0)
LIGHT = Tenant("light", turns_per_second=0.5)
HEAVY = Tenant("heavy", turns_per_second=5.0)
"""Ten times as many turns, and with the light tenant's more than the engine can do."""
CROWD = [Tenant(f"heavy{number}", turns_per_second=1.25) for number in range(4)]
BACKLOGGED = [Tenant(f"t{size}", callers=20, input_tokens=size, output_tokens=40) for size in (200, 500, 1000, 2000)]
URGENT = [Tenant("urgent", callers=20, weight=4.0), Tenant("patient", callers=20)]
NOTES = f"""\
Simulated: the engine (a step of 10 ms, 0.5 ms more a turn, prompts of 20,000 tokens/s in chunks of 512), and the
tenants (turns come at random; those of the second table have 20 callers, who send one turn after the other and come
back when they are told to). Real: admission, with its line, its refusals and its orders. llm-d is a model of its choice
only, not its code: {PLACES} places, and a line that refuses nobody; with one priority it is round robin.
Line: "short" is as shipped, where newcomers may wait for ten turns once it stands; in the "long" one all may wait.
Kept: the share of the limit that `flow.newcomer_share` keeps above it.
"In line" is the p99 of what is spent before the engine. What remains is the engine's: its steps stretch with the batch,
and it reads prompts in the order in which they were let in. Turns that are refused are in no time.
This flatters the gateway: its limit stands still at {PLACES}, lengths vary by a factor of three only, and tokens cost
nothing in it. This does not: the heavy tenant meets no rate limit, only the line's.\
"""


@dataclass(frozen=True, slots=True)
class Case:
    """One row: what stands before the engine."""

    order: str
    line: str
    kept: str
    door: MakeDoor


def gateway(fairness: FairnessSettings, line: LineSettings, kept: float) -> MakeDoor:
    """Return the maker of a gateway."""
    limit = LimitSettings(first_turns=PLACES)
    flow = FlowSettings(newcomer_share=kept, limit=limit, line=line, fairness=fairness)
    return lambda clock, load: Gateway(flow, clock, load)


def peer() -> MakeDoor:
    """Return the maker of llm-d's."""
    return lambda clock, load: FlowControl(lambda tenant: int(tenant == "urgent"), PLACES)


def orders() -> dict[str, FairnessSettings]:
    """Return the gateway's orders by name."""
    by_kind = {kind.replace("_", " "): FairnessSettings(order=kind) for kind in reversed(OrderKind)}
    return {**by_kind, f"virtual counters, {BANK:,.0f} banked": FairnessSettings(banked_tokens=BANK)}


def cases() -> Iterator[Case]:
    """Yield what is compared."""
    yield Case("llm-d (model)", "long", "", peer())
    for line, bounds in (("long", LONG), ("short", SHORT)):
        for order, fairness in orders().items():
            for kept in (0.0, FlowSettings().newcomer_share):
                yield Case(order, line, f"{kept:g}", gateway(fairness, bounds, kept))


def light_alone(seconds: float) -> Result:
    """Run the light tenant with nobody else."""
    return run([LIGHT], gateway(FairnessSettings(), SHORT, 0.0), seconds)


def stretch_table(seconds: float) -> Table:
    """Make the table of the light tenant's waits."""
    alone = light_alone(seconds).p99("light")
    table = Table(title=f"Light tenant: first token p99 over its p99 alone ({alone * 1000:.0f} ms); aim {AIM_STRETCH}")
    beside = ("in line", "refused, %", "others refused, %")
    for name in ("order", "line", "kept", "beside one of 10 times its rate", *beside, "beside 4 that have it", *beside):
        table.add_column(name, justify="right")
    for case in cases():
        cells = []
        for heavy in ([HEAVY], CROWD):
            result = run([LIGHT, *heavy], case.door, seconds)
            cells += [f"{result.p99('light') / alone:.1f}", f"{result.wait_p99('light') * 1000:.0f} ms"]
            cells += [f"{100 * result.refused_share(tenant):.0f}" for tenant in ("light", heavy[0].name)]
        table.add_row(case.order, case.line, case.kept, *cells)
    return table


def share_table(seconds: float) -> Table:
    """Make the table of what tenants are served that always want more."""
    table = Table(title=f"Tenants that always want more (aim: Jain's index {AIM_JAIN}, nobody at 0)")
    strict = "share of a patient tenant beside an urgent flood (4 : 1)"
    for name in ("order", "line", "kept", "Jain, prompts of 200 to 2,000", strict):
        table.add_column(name, justify="right")
    for case in cases():
        equal, urgent = run(BACKLOGGED, case.door, seconds), run(URGENT, case.door, seconds)
        table.add_row(case.order, case.line, case.kept, f"{equal.jain():.3f}", f"{urgent.share('patient'):.2f}")
    return table


def main() -> None:
    """Simulate and print."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seconds", type=float, default=600.0, help="virtual seconds of each run (default 600)")
    seconds = arguments.parse_args().seconds
    console = Console(width=140)
    console.print(stretch_table(seconds))
    console.print(share_table(seconds))
    console.print(NOTES)


if __name__ == "__main__":
    main()
