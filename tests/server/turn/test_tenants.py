"""A light tenant beside one that sends ten times as much, in virtual time, through everything but the doors."""

import asyncio
import random
from collections.abc import AsyncGenerator

from headworks.intake.span import Modality
from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.trust.settings import TrustSettings
from headworks.server.engine.settings import SimulatedSettings
from headworks.server.engine.simulated import SimulatedEngine
from headworks.server.flow.admission import Admission
from headworks.server.flow.errors import FlowError
from headworks.server.flow.fairness.settings import FairnessSettings, OrderKind
from headworks.server.flow.meter import Meter
from headworks.server.flow.settings import FlowSettings, LimitSettings, LineSettings
from headworks.server.state.memory import MemoryState
from headworks.server.state.settings import StateSettings
from headworks.server.turn.opening import Opening
from headworks.server.turn.runner import TurnRunner
from headworks.server.turn.settings import TurnSettings
from headworks.server.turn.steps import Chunk, Delta, EndOfInput, Event, Setup, Step
from headworks.server.visit.visit import Visit
from tests.fakes.clocks import VirtualClock
from tests.fakes.judges import AllowingJudge
from tests.server.edge import served_by
from tests.server.rpc.watching import Watcher
from tests.server.turn.turns import TextAndLetters

SECONDS = 60
PLACES = 16
LIGHT_PER_SECOND = 1.0
HEAVY_PER_SECOND = 10 * LIGHT_PER_SECOND
ANSWER = SimulatedSettings(first_token_seconds=0.5, gap_seconds=0.2, answer_tokens=11, max_running=64)
"""2.5 s a turn: sixteen places serve 6.4 turns a second, and eleven come."""


class Experiment:
    """Two tenants and one gateway."""

    def __init__(self, order: OrderKind, *, newcomer_share: float) -> None:
        self.clock, self.chance = VirtualClock(), random.Random(8)  # for a test
        engine = SimulatedEngine((1, 2, 3), ANSWER, self.clock)
        flow = FlowSettings(
            max_turns=64,
            newcomer_share=newcomer_share,
            limit=LimitSettings(first_turns=PLACES),
            line=LineSettings(interactive_seconds=600.0, standing_seconds=600.0, max_waiting=2000),
            fairness=FairnessSettings(order=order),
        )
        admission = Admission(flow, self.clock, engine.load)
        settings = TurnSettings()
        meter = Meter(MemoryState(StateSettings(), self.clock), 10, settings.max_seconds)
        opening = Opening(served_by(engine), AllowingJudge(), TrustSettings(), admission, meter, settings, self.clock)
        self.runner = TurnRunner(
            served=served_by(engine),
            intake=TextAndLetters(),
            opening=opening,
            observer=Watcher(),
            settings=settings,
            clock=self.clock,
        )
        self.first_token_seconds: dict[str, list[float]] = {"light": [], "heavy": []}

    async def turn(self, tenant: str, at: float) -> None:
        await self.clock.sleep(at)
        visit = Visit(Caller(tenant, "s", AuthenticatedBy.LOOPBACK), is_encrypted=False, is_loopback=True, peer="here")
        first: list[float] = []

        async def sink(event: Event) -> None:
            if isinstance(event, Delta) and not first:
                first.append(self.clock.now() - at)

        try:
            await self.runner.converse(visit, steps(), sink, turn_id="t")
        except FlowError:
            return
        self.first_token_seconds[tenant] += first

    def times(self, per_second: float) -> list[float]:
        return [self.chance.uniform(0, SECONDS) for _ in range(int(SECONDS * per_second))]

    async def run(self, heavy_per_second: float) -> float:
        """Return the 99th percentile of the light tenant's times to first token."""
        rates = {"light": LIGHT_PER_SECOND, "heavy": heavy_per_second}
        turns = [
            asyncio.create_task(self.turn(tenant, at))
            for tenant, per_second in rates.items()
            for at in self.times(per_second)
        ]
        await self.clock.run(asyncio.ensure_future(asyncio.wait(turns)))
        seen = sorted(self.first_token_seconds["light"])
        assert len(seen) == SECONDS * LIGHT_PER_SECOND
        return seen[int(0.99 * len(seen))]


async def steps() -> AsyncGenerator[Step, None]:
    yield Setup(max_output_tokens=40)
    yield Chunk(Modality.TEXT, b"Hello.", is_last=True)
    yield EndOfInput()


def late(order: OrderKind, newcomer_share: float) -> float:
    """Return the light tenant's 99th percentile beside the heavy one as a multiple of the one alone."""
    alone = asyncio.run(Experiment(order, newcomer_share=newcomer_share).run(0.0))
    return asyncio.run(Experiment(order, newcomer_share=newcomer_share).run(HEAVY_PER_SECOND)) / alone


def test_places_of_its_own_keep_a_light_tenant_from_waiting() -> None:
    """A weighted scheduler that ignored queues took a tenant's 99th percentile from 82 to 1,240 ms."""
    assert late(OrderKind.VIRTUAL_COUNTERS, FlowSettings().newcomer_share) <= 1.3


def test_the_order_alone_serves_a_light_tenant_next() -> None:
    """Without such places it waits for one turn to end, and not for all that came before it."""
    assert late(OrderKind.VIRTUAL_COUNTERS, 0.0) < late(OrderKind.FIRST_COME, 0.0) / 3
