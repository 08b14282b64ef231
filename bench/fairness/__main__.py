"""A light tenant beside heavy ones, under each order, in virtual time.

Run: python -m bench.fairness
"""

import argparse
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from bench.fairness.door import DoorSettings, OrderDoor, Room
from bench.fairness.experiment import Result, Tenant, run
from bench.fairness.flow_control import FlowControl
from headworks.server.flow.fairness.order import Order
from headworks.server.flow.fairness.orders import order_of
from headworks.server.flow.fairness.settings import FairnessSettings, OrderKind

AIM_STRETCH, AIM_JAIN = 1.3, 0.97
BANK = 4000.0
"""Three turns of the light tenant."""
LIGHT = Tenant("light", turns_per_second=0.5)
HEAVY = Tenant("heavy", turns_per_second=5.0)
"""Ten times as many turns, and with the light tenant's more than the engine can do."""
CROWD = [Tenant(f"heavy{number}", turns_per_second=1.25) for number in range(4)]
BACKLOGGED = [Tenant(f"t{size}", input_tokens=size, output_tokens=40, backlog=20) for size in (200, 500, 1000, 2000)]
URGENT = [Tenant("urgent", backlog=20, weight=4.0), Tenant("patient", backlog=20)]
NOTES = """\
Simulated: the engine (a step of 10 ms, 0.5 ms more a turn, prompts of 20,000 tokens/s in chunks of 512), its 16
places, and the tenants (turns come at random). Real: the orders, which are the gateway's own classes. llm-d is a model
of its choice only, not its code; with one priority it is round robin.
"In line" is the part of the p99 that an order can do something about, down to the rest of a step. What remains is the
engine's: its steps stretch with the batch, and it reads prompts in the order in which they were let in.
Counters charge a turn when it begins, so that a second turn of the light tenant soon after its first waits as long as
in a ring or longer, unless some tokens may be banked.
This flatters us: places stand still, lengths vary by a factor of three only, tokens cost nothing in the gateway, and
the line is judged the moment a place is free. This does not: the heavy tenant meets no rate limit, only the line's.\
"""


def orders() -> dict[str, Callable[[], Order]]:
    """Return what is compared, by name."""

    def maker(kind: OrderKind) -> Callable[[], Order]:
        return lambda: order_of(FairnessSettings(order=kind))

    ours = {kind.replace("_", " "): maker(kind) for kind in reversed(OrderKind)}
    saving = FairnessSettings(banked_tokens=BANK)
    ours[f"virtual counters, {BANK:,.0f} banked"] = lambda: order_of(saving)
    return {"llm-d (model)": lambda: FlowControl(lambda tenant: int(tenant == "urgent")), **ours}


def door(order: Order, room: Room = Room.NOBODY) -> OrderDoor:
    return OrderDoor(order, DoorSettings(room=room))


def light_alone(seconds: float) -> Result:
    """Run the light tenant with nobody else."""
    return run([LIGHT], door(order_of(FairnessSettings())), seconds)


def light_beside(heavy: list[Tenant], order: Order, room: Room, seconds: float) -> Result:
    """Run it beside others."""
    return run([LIGHT, *heavy], door(order, room), seconds)


def stretch_table(seconds: float) -> Table:
    """Make the table of the light tenant's waits."""
    alone = light_alone(seconds).p99("light")
    table = Table(title=f"Light tenant: first token p99 over its p99 alone ({alone * 1000:.0f} ms); aim {AIM_STRETCH}")
    for name in (
        "order",
        "room kept",
        "beside one of 10 times its rate",
        "in line",
        "beside 4 that have it",
        "in line",
    ):
        table.add_column(name, justify="right")
    for name, make in orders().items():
        for room in Room:
            cells = []
            for heavy in ([HEAVY], CROWD):
                result = light_beside(heavy, make(), room, seconds)
                cells += [f"{result.p99('light') / alone:.1f}", f"{result.wait_p99('light') * 1000:.0f} ms"]
            table.add_row(name, room.value, *cells)
    return table


def share_table(seconds: float) -> Table:
    """Make the table of what tenants that always wait are served."""
    table = Table(title=f"Tenants that always wait (aim: Jain's index {AIM_JAIN}, nobody at 0)")
    for name in ("order", "Jain, prompts of 200 to 2,000", "share of a patient tenant beside an urgent flood (4 : 1)"):
        table.add_column(name)
    for name, make in orders().items():
        equal = run(BACKLOGGED, door(make()), seconds)
        strict = run(URGENT, door(make()), seconds)
        table.add_row(name, f"{equal.jain():.3f}", f"{strict.share('patient'):.2f}")
    return table


def main() -> None:
    """Simulate and print."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seconds", type=float, default=600.0, help="virtual seconds of each run (default 600)")
    seconds = arguments.parse_args().seconds
    console = Console()
    console.print(stretch_table(seconds))
    console.print(share_table(seconds))
    console.print(NOTES)


if __name__ == "__main__":
    main()
