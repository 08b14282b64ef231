"""Traffic of tenants through a door and an engine, in virtual time. The same seed gives the same result."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.fairness.engine import Engine, EngineModel, Step, Turn
from bench.fairness.gateway import Door
from bench.virtual_time import LoopClock, run_in_virtual_time
from headworks.server.clock import Clock
from headworks.server.engine.engine import EngineLoad
from headworks.server.flow.errors import TooLate, TooMany

INPUT_PRICE, OUTPUT_PRICE = 1.0, 2.0
"""As the settings' defaults, for what a tenant was served."""

MakeDoor = Callable[[Clock, Callable[[], EngineLoad]], Door]
"""Makes a door before an engine whose load it may look at."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """What one tenant sends. Lengths are spread evenly between half and three halves of their mean.

    Source: the means are near the medians of the conversations in Azure's public trace of 2023 (1,020 and 129).
    """

    name: str
    turns_per_second: float = 0.0
    """At random times. Whoever is refused does not come back."""
    callers: int = 0
    """Each sends one turn after the other; one that is refused comes back when it was told to."""
    input_tokens: int = 1000
    output_tokens: int = 130
    weight: float = 1.0


@dataclass(slots=True)
class Result:
    """What tenants got."""

    first: dict[str, list[float]] = field(default_factory=dict)
    """Seconds to the first token, of each turn that had one."""
    waited: dict[str, list[float]] = field(default_factory=dict)
    """Seconds in line, of each turn that began. A turn that comes in the middle of a step waits for its end."""
    served: Counter[str] = field(default_factory=Counter)
    """Priced tokens."""
    came: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def p99(self, tenant: str) -> float:
        """Return the 99th percentile of the time to the first token, in seconds."""
        return _p99(self.first[tenant])

    def wait_p99(self, tenant: str) -> float:
        """Return the part of it that is spent before the engine, in seconds."""
        return _p99(self.waited[tenant])

    def refused_share(self, tenant: str) -> float:
        """Return the part of a tenant's turns that was refused."""
        return self.refused[tenant] / self.came[tenant]

    def jain(self) -> float:
        """Return Jain's index over what tenants were served: 1 when equal, 1/n when one has all."""
        values = list(self.served.values())
        return sum(values) ** 2 / (len(values) * sum(value**2 for value in values))

    def share(self, tenant: str) -> float:
        """Return a tenant's part of all that was served."""
        return self.served[tenant] / self.served.total()


def run(tenants: list[Tenant], make_door: MakeDoor, seconds: float, seed: int = 7) -> Result:
    """Let tenants send for some virtual seconds; what waits or runs then is not counted."""
    random.seed(seed)  # admission spreads the times at which the refused may come back
    return run_in_virtual_time(_Experiment(tenants, make_door, seed).run(seconds))


class _Experiment:
    """One run: an engine, a door before it, and those that send."""

    def __init__(self, tenants: list[Tenant], make_door: MakeDoor, seed: int) -> None:
        self._tenants = tenants
        self._seed = seed
        self._clock = LoopClock()
        self._engine = Engine(EngineModel(), self._clock, self._book)
        self._door = make_door(self._clock, self._engine.load)
        names = [tenant.name for tenant in tenants]
        self._result = Result(
            {name: [] for name in names}, {name: [] for name in names}, Counter(dict.fromkeys(names, 0))
        )
        self._going: set[asyncio.Task[None]] = set()

    async def run(self, seconds: float) -> Result:
        async with asyncio.TaskGroup() as group:
            self._start(group, self._engine.run())
            for tenant in self._tenants:
                if tenant.turns_per_second:
                    self._start(group, self._send(group, tenant))
                for number in range(tenant.callers):
                    self._start(group, self._call(tenant, number))
            await self._clock.sleep(seconds)
            for task in self._going:
                task.cancel()
        return self._result

    def _start(self, group: asyncio.TaskGroup, work: Coroutine[Any, Any, object]) -> None:
        task = group.create_task(_only(work))
        self._going.add(task)
        task.add_done_callback(self._going.discard)

    async def _send(self, group: asyncio.TaskGroup, tenant: Tenant) -> None:
        """Send a tenant's turns at random times, whoever else sends what."""
        draw = random.Random(f"{self._seed} {tenant.name}")
        at = 0.0
        while True:
            at += draw.expovariate(tenant.turns_per_second)
            await self._clock.sleep(at - self._clock.now())
            self._start(group, self._visit(self._turn(tenant, draw)))

    async def _call(self, tenant: Tenant, number: int) -> None:
        """Send one turn after the other."""
        draw = random.Random(f"{self._seed} {tenant.name} {number}")
        while True:
            await self._clock.sleep(await self._visit(self._turn(tenant, draw)))

    async def _visit(self, turn: Turn) -> float:
        """Run one turn, and return after how long its caller may come again."""
        self._result.came[turn.tenant] += 1
        try:
            async with self._door.enter(turn) as leave:
                self._result.waited[turn.tenant].append(self._clock.now() - turn.came_at)
                await self._engine.answer(turn, leave)
        except (TooMany, TooLate) as error:
            self._result.refused[turn.tenant] += 1
            return error.retry_after_seconds
        return 0.0

    def _turn(self, tenant: Tenant, draw: random.Random) -> Turn:
        def length(mean: int) -> int:
            return max(1, round(mean * draw.uniform(0.5, 1.5)))

        return Turn(
            tenant=tenant.name,
            came_at=self._clock.now(),
            input_tokens=length(tenant.input_tokens),
            output_tokens=length(tenant.output_tokens),
            ceiling=2 * tenant.output_tokens,
            weight=tenant.weight,
        )

    def _book(self, done: Step) -> None:
        result = self._result
        for turn, tokens in done.read.items():
            result.served[turn.tenant] += round(tokens * INPUT_PRICE)
        for turn in done.answered:
            result.served[turn.tenant] += round(OUTPUT_PRICE)
            if turn.answered == 1:
                result.first[turn.tenant].append(self._clock.now() - turn.came_at)


async def _only(work: Coroutine[Any, Any, object]) -> None:
    """Drop what it returns."""
    await work


def _p99(values: list[float]) -> float:
    return float(np.percentile(values, 99)) if values else float("nan")
