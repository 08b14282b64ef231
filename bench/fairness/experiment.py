"""Traffic of tenants through a door and an engine, as a simulation of events. The same seed gives the same result."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from bench.fairness.door import Door
from bench.fairness.engine import EngineModel, Turn, step
from headworks.server.flow.fairness.order import Entry

INPUT_PRICE, OUTPUT_PRICE = 1.0, 2.0
"""As the settings' defaults, for what a tenant was served."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """What one tenant sends. Lengths are spread evenly between half and three halves of their mean.

    Source: the means are near the medians of the conversations in Azure's public trace of 2023 (1,020 and 129).
    """

    name: str
    turns_per_second: float = 0.0
    """At random times; 0 for a tenant that always has `backlog` turns in line."""
    input_tokens: int = 1000
    output_tokens: int = 130
    weight: float = 1.0
    backlog: int = 0


@dataclass(slots=True)
class Result:
    """What tenants got."""

    first: dict[str, list[float]] = field(default_factory=dict)
    """Seconds to the first token, of each turn that had one."""
    waited: dict[str, list[float]] = field(default_factory=dict)
    """Seconds in line, of each turn that began. A turn that comes in the middle of a step waits for its end."""
    served: Counter[str] = field(default_factory=Counter)
    """Priced tokens."""

    def p99(self, tenant: str) -> float:
        """Return the 99th percentile of the time to the first token, in seconds."""
        return float(np.percentile(self.first[tenant], 99))

    def wait_p99(self, tenant: str) -> float:
        """Return the part of it that is spent before the engine, in seconds."""
        return float(np.percentile(self.waited[tenant], 99))

    def jain(self) -> float:
        """Return Jain's index over what tenants were served: 1 when equal, 1/n when one has all."""
        values = list(self.served.values())
        return sum(values) ** 2 / (len(values) * sum(value**2 for value in values))

    def share(self, tenant: str) -> float:
        """Return a tenant's part of all that was served."""
        return self.served[tenant] / self.served.total()


def run(tenants: list[Tenant], door: Door, seconds: float, model: EngineModel | None = None, seed: int = 7) -> Result:
    """Let tenants send for some virtual seconds; what was in line then is not counted."""
    model = model or EngineModel()
    names = [tenant.name for tenant in tenants]
    result = Result({name: [] for name in names}, {name: [] for name in names}, Counter(dict.fromkeys(names, 0)))
    coming = sorted(
        (turn for tenant in tenants for turn in arrivals(tenant, seconds, seed)),
        key=lambda turn: turn.entry.joined_at,
        reverse=True,
    )
    lengths = random.Random(seed)
    running: list[Turn] = []
    now = 0.0
    while now < seconds:
        while coming and coming[-1].entry.joined_at <= now:
            door.came(coming.pop())
        for tenant in tenants:
            for _ in range(tenant.backlog - door.waiting(tenant.name)):
                door.came(turn_of(tenant, now, lengths))
        for turn in door.let_in():
            running.append(turn)
            result.waited[turn.entry.tenant].append(now - turn.entry.joined_at)
        if not running:
            now = coming[-1].entry.joined_at if coming else seconds
            continue
        now = advance(model, running, door, result, now)
        for turn in [turn for turn in running if turn.is_over]:
            running.remove(turn)
            door.left(turn)
    return result


def advance(model: EngineModel, running: list[Turn], door: Door, result: Result, now: float) -> float:
    """Make one step of the engine, book it, and return when it ended."""
    done = step(model, running)
    now += done.seconds
    door.spent(done)
    for turn, tokens in done.read.items():
        result.served[turn.entry.tenant] += round(tokens * INPUT_PRICE)
    for turn in done.answered:
        result.served[turn.entry.tenant] += round(OUTPUT_PRICE)
        if turn.first_at is None:
            turn.first_at = now
            result.first[turn.entry.tenant].append(now - turn.entry.joined_at)
    return now


def arrivals(tenant: Tenant, seconds: float, seed: int) -> Iterator[Turn]:
    """Yield the turns that a tenant sends, whoever else sends what."""
    draw = random.Random(f"{seed} {tenant.name}")
    at = 0.0
    while tenant.turns_per_second:
        at += draw.expovariate(tenant.turns_per_second)
        if at >= seconds:
            return
        yield turn_of(tenant, at, draw)


def turn_of(tenant: Tenant, at: float, draw: random.Random) -> Turn:
    """Make one turn of a tenant."""

    def length(mean: int) -> int:
        return max(1, round(mean * draw.uniform(0.5, 1.5)))

    ceiling = 2 * tenant.output_tokens
    entry = Entry(tenant=tenant.name, weight=tenant.weight, tokens=ceiling, joined_at=at)
    return Turn(entry, length(tenant.input_tokens), length(tenant.output_tokens))
