"""A day of traffic in virtual time: bursts, long prompts, callers who leave, tenants of every size."""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field, replace

from headworks.intake.prompt.settings import PromptSettings
from headworks.intake.span import Modality
from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.trust.settings import TrustSettings
from headworks.server.engine.engine import EngineRequest, Piece, PromptChunk
from headworks.server.engine.settings import SimulatedSettings
from headworks.server.engine.simulated import SimulatedEngine
from headworks.server.flow.admission import Admission
from headworks.server.flow.errors import FlowError
from headworks.server.flow.meter import Meter
from headworks.server.flow.service_class import ServiceClass
from headworks.server.flow.settings import FlowSettings, LimitSettings
from headworks.server.state.memory import MemoryState
from headworks.server.state.settings import StateSettings
from headworks.server.turn.errors import TurnTimedOut
from headworks.server.turn.opening import Opening
from headworks.server.turn.runner import TurnRunner
from headworks.server.turn.settings import TurnSettings
from headworks.server.turn.steps import Chunk, EndOfInput, Event, Setup, Step
from headworks.server.visit.visit import Visit
from tests.fakes.clocks import VirtualClock
from tests.fakes.judges import AllowingJudge
from tests.server.edge import served_by
from tests.server.rpc.watching import Watcher
from tests.server.turn.turns import TextAndLetters

DAY_SECONDS = 86_400.0
LONG_PROMPT_TOKENS = 32_000
TENANTS = ("heavy", "heavy", "heavy", "heavy", "middle", "middle", "light")


class CountingEngine(SimulatedEngine):
    """Counts what it was given and what it gave."""

    def __init__(self, clock: VirtualClock) -> None:
        settings = SimulatedSettings(
            first_token_seconds=0.3, gap_seconds=0.05, answer_tokens=20, max_running=64, max_model_tokens=100_000
        )
        super().__init__((1, 2, 3), settings, clock)
        self.taken: list[int] = []
        self.given = 0

    async def answer(self, request: EngineRequest, prompt: AsyncIterator[PromptChunk]) -> AsyncGenerator[Piece, None]:
        self.taken.append(0)
        number = len(self.taken) - 1

        async def counted() -> AsyncIterator[PromptChunk]:
            async for chunk in prompt:
                self.taken[number] += len(chunk.token_ids)
                yield chunk

        async for piece in super().answer(request, counted()):
            self.given += len(piece.token_ids)
            yield piece


@dataclass
class Day:
    """A gateway without doors, and the turns that came to it."""

    clock: VirtualClock = field(default_factory=VirtualClock)
    chance: random.Random = field(default_factory=lambda: random.Random(8))  # for a test
    ends: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.engine = CountingEngine(self.clock)
        flow = FlowSettings(max_turns=64, limit=LimitSettings(first_turns=8, interval_seconds=5.0))
        self.admission = Admission(flow, self.clock, self.engine.load)
        settings = TurnSettings()
        self.meter = Meter(MemoryState(StateSettings(), self.clock), 10, settings.max_seconds)
        served = replace(served_by(self.engine), prompt=PromptSettings(max_tokens=100_000))
        judge = AllowingJudge()
        opening = Opening(served, judge, TrustSettings(), self.admission, self.meter, settings, self.clock)
        self.runner = TurnRunner(
            served=served,
            intake=TextAndLetters(),
            opening=opening,
            observer=Watcher(),
            settings=settings,
            clock=self.clock,
        )

    async def turn(self, number: int, at: float) -> None:
        """Come at a time of the day, with a prompt of some length, and perhaps leave before the end."""
        await self.clock.sleep(at)
        tenant, is_long = self.chance.choice(TENANTS), number % 200 == 0
        visit = Visit(Caller(tenant, "s", AuthenticatedBy.LOOPBACK), is_encrypted=False, is_loopback=True, peer="here")
        deadline = self.chance.choice((None, None, 5.0, 60.0))
        kind = self.chance.choice((ServiceClass.INTERACTIVE, ServiceClass.INTERACTIVE, ServiceClass.BATCH))
        steps = self.steps(kind, 40 if is_long else self.chance.randint(1, 3))
        running = asyncio.create_task(
            self.runner.converse(visit, steps, self.sink, turn_id=str(number), deadline_seconds=deadline)
        )
        if self.chance.random() < 0.2:
            await self.clock.sleep(self.chance.random() * 2)
            running.cancel()
        await asyncio.wait((running,))
        self.note(running)

    def note(self, running: "asyncio.Task[None]") -> None:
        error = None if running.cancelled() else running.exception()
        assert error is None or isinstance(error, (FlowError, TurnTimedOut)), repr(error)
        name = "left" if running.cancelled() else type(error).__name__
        self.ends[name] = self.ends.get(name, 0) + 1
        assert 0 <= self.admission.held <= 64
        assert self.admission.figures().outstanding_tokens >= 0

    async def steps(self, kind: ServiceClass, chunks: int) -> AsyncGenerator[Step, None]:
        yield Setup(max_output_tokens=self.chance.choice((5, 20, 200)), service_class=kind)
        for number in range(1, chunks + 1):
            await self.clock.sleep(self.chance.random() / 10)
            text = "How many orders did we ship? " * (30 if chunks < 40 else 100)
            yield Chunk(Modality.TEXT, text.encode(), is_last=number == chunks)
        yield EndOfInput()

    async def sink(self, event: Event) -> None:
        """Read at once."""

    def times(self, turns: int) -> list[float]:
        """Return when turns come: fewer at night, a third of them in bursts of some hundred."""
        calm = [self.chance.triangular(0, DAY_SECONDS, DAY_SECONDS / 2) for _ in range(turns * 2 // 3)]
        bursts = [hour * 3600.0 + self.chance.random() for hour in (9, 12, 18) for _ in range(turns // 9)]
        return sorted(calm + bursts)


def test_a_day_leaves_nothing_behind_and_the_books_are_the_engines_own() -> None:
    """No permit, token or silent call is lost; what is booked is what the engine took and gave (vllm#55634)."""

    async def live() -> Day:
        day = Day()
        adapting = asyncio.create_task(day.admission.run())
        turns = [asyncio.create_task(day.turn(number, at)) for number, at in enumerate(day.times(1800))]
        await day.clock.run(asyncio.ensure_future(asyncio.wait(turns)))
        adapting.cancel()
        for turn in turns:
            turn.result()
        return day

    day = asyncio.run(live())
    figures = day.admission.figures()
    assert (figures.held, day.admission.waiting, len(day.admission.lobby), figures.outstanding_tokens) == (0, 0, 0, 0)
    assert figures.counters_by_tenant == {}
    totals = [day.meter.totals(tenant) for tenant in set(TENANTS)]
    assert sum(line.output_tokens for line in totals) == day.engine.given
    assert sum(line.input_tokens for line in totals) == sum(day.engine.taken)
    assert max(day.engine.taken) >= LONG_PROMPT_TOKENS
    assert set(day.ends) >= {"NoneType", "left", "TooMany"}, day.ends
    assert day.clock.now() >= 18 * 3600
