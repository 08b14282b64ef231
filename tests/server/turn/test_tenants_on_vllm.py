"""The tenants' experiment on the real engine: a light tenant's turns beside a backlog. Turns are counted, not timed."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field

import pytest

from headworks.intake.models.store import ModelKind, ModelStore, StoredModel
from headworks.intake.prompt.settings import PromptSettings
from headworks.intake.prompt.template import ChatTemplate
from headworks.intake.prompt.tokenizer import ModelTokenizer
from headworks.intake.span import Modality
from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.trust.settings import TrustSettings
from headworks.server.clock import SystemClock
from headworks.server.engine.engine import EngineRequest, Piece, PromptChunk
from headworks.server.engine.served import ServedModel
from headworks.server.engine.settings import VllmSettings
from headworks.server.engine.vllm_local import VllmEngine
from headworks.server.flow.admission import Admission
from headworks.server.flow.fairness.settings import FairnessSettings, OrderKind
from headworks.server.flow.meter import Meter
from headworks.server.flow.settings import FlowSettings, LimitSettings, LineSettings
from headworks.server.state.memory import MemoryState
from headworks.server.state.settings import StateSettings
from headworks.server.turn.opening import Opening
from headworks.server.turn.runner import TurnRunner
from headworks.server.turn.settings import TurnSettings
from headworks.server.turn.steps import Chunk, EndOfInput, Event, Setup, Step
from headworks.server.visit.visit import Visit
from tests.fakes.judges import AllowingJudge
from tests.server.edge import POOL
from tests.server.rpc.watching import Watcher
from tests.server.turn.turns import TextAndLetters

pytestmark = [pytest.mark.models, pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(300)]

PLACES = 4
HEAVY_CALLERS = 20
"""Each sends one turn after the other, so that sixteen wait; those whose turn has just ended are on their way back."""
ANSWER_TOKENS = 4
WORDS = "How many orders did we ship in March, and how many in April? " * 12
"""A turn of it costs nearly as much as the band within which the longest wait goes first is wide."""
LINE = LineSettings(interactive_seconds=200.0, standing_seconds=200.0)


class NotingEngine(VllmEngine):
    """vLLM, and a note of whose turns it began."""

    def __init__(self, language: StoredModel) -> None:
        super().__init__(language.path, language.name, VllmSettings(max_model_tokens=1024))
        self.began: list[str] = []

    async def answer(self, request: EngineRequest, prompt: AsyncIterator[PromptChunk]) -> AsyncGenerator[Piece, None]:
        self.began.append(request.turn_id)
        async for piece in super().answer(request, prompt):
            yield piece


@dataclass
class Wait:
    """One of the light tenant's turns."""

    in_line: int
    """Turns of the heavy tenant that waited when it came."""
    passed_by: int
    """Turns of the heavy tenant that began before it, after it had come."""


@dataclass
class Experiment:
    """Two tenants before one engine, under one order."""

    language: StoredModel
    engine: NotingEngine
    order: OrderKind
    newcomer_share: float
    waits: list[Wait] = field(default_factory=list)

    def __post_init__(self) -> None:
        clock, settings = SystemClock(), TurnSettings()
        flow = FlowSettings(
            newcomer_share=self.newcomer_share,
            limit=LimitSettings(first_turns=PLACES),
            line=LINE,
            fairness=FairnessSettings(order=self.order),
        )
        self.admission = Admission(flow, clock, self.engine.load)
        tokenizer, template = ModelTokenizer.load(self.language.path), ChatTemplate.load(self.language.path)
        limit = "engine.vllm.max_model_tokens"
        name, prompt = self.language.name, PromptSettings()
        served = ServedModel(name, self.engine, tokenizer, template, limit, prompt, POOL)
        meter = Meter(MemoryState(StateSettings(), clock), 10, settings.max_seconds)
        opening = Opening(served, AllowingJudge(), TrustSettings(), self.admission, meter, settings, clock)
        self.runner = TurnRunner(
            served=served,
            intake=TextAndLetters(),
            opening=opening,
            observer=Watcher(),
            settings=settings,
            clock=clock,
        )

    async def turn(self, tenant: str) -> None:
        visit = Visit(Caller(tenant, "s", AuthenticatedBy.LOOPBACK), is_encrypted=False, is_loopback=True, peer="here")
        await self.runner.converse(visit, steps(), ignore, turn_id=tenant)

    async def heavy_caller(self) -> None:
        while True:
            await self.turn("heavy")

    async def light_caller(self, turns: int) -> None:
        for _ in range(turns):
            in_line, came_at = self.admission.waiting, len(self.engine.began)
            await self.turn("light")
            self.waits.append(Wait(in_line, self.engine.began[came_at:].index("light")))

    async def run(self, light_turns: int = 2) -> list[Wait]:
        """Return what the light tenant met; the heavy one's callers leave when it is served."""
        self.engine.began.clear()
        async with asyncio.TaskGroup() as callers:
            heavy = [callers.create_task(self.heavy_caller()) for _ in range(HEAVY_CALLERS)]
            while len(self.engine.began) < 2 * PLACES:  # noqa: ASYNC110  # engines tell no one when they begin
                await asyncio.sleep(0.01)
            await self.light_caller(light_turns)
            for caller in heavy:
                caller.cancel()
        assert (self.admission.held, self.admission.waiting, self.engine.load().running) == (0, 0, 0)
        assert not self.admission.refused
        return self.waits


async def steps() -> AsyncGenerator[Step, None]:
    yield Setup(max_output_tokens=ANSWER_TOKENS)
    yield Chunk(Modality.TEXT, WORDS.encode(), is_last=True)
    yield EndOfInput()


async def ignore(event: Event) -> None:
    """Read at once."""


@pytest.mark.filterwarnings("default")
async def test_a_light_tenant_is_next_on_the_real_engine_however_long_the_backlog(store: ModelStore) -> None:
    """A weighted scheduler that ignored queues took a tenant's 99th percentile from 82 to 1,240 ms."""
    language = store.find(ModelKind.LANGUAGE)
    engine = NotingEngine(language)
    await engine.start()
    try:
        first_come = await Experiment(language, engine, OrderKind.FIRST_COME, 0.0).run(light_turns=1)
        counters = await Experiment(language, engine, OrderKind.VIRTUAL_COUNTERS, 0.0).run()
        kept = await Experiment(language, engine, OrderKind.VIRTUAL_COUNTERS, FlowSettings().newcomer_share).run()
    finally:
        await engine.close()
    backlog = HEAVY_CALLERS - 2 * PLACES
    assert all(wait.in_line >= backlog for wait in first_come + counters + kept)
    assert all(wait.passed_by >= wait.in_line for wait in first_come)
    assert all(wait.passed_by <= backlog / 2 for wait in counters)
    assert all(wait.passed_by <= 1 for wait in kept)
