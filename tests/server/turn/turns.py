"""A turn runner over fakes, asked without gRPC, on a clock that is turned by hand."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, field

from headworks.intake.preprocessor import Preprocessor
from headworks.intake.span import Modality
from headworks.intake.text import TextPreprocessor, TextSettings
from headworks.intake.voice.encoding import VoiceForm
from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.judge import Judge
from headworks.policy.trust.settings import TrustSettings
from headworks.server.engine.engine import Engine
from headworks.server.flow.admission import Admission
from headworks.server.flow.meter import Meter
from headworks.server.flow.settings import FlowSettings
from headworks.server.state.memory import MemoryState
from headworks.server.state.settings import StateSettings
from headworks.server.turn.opening import Opening
from headworks.server.turn.runner import TurnRunner
from headworks.server.turn.settings import TurnSettings
from headworks.server.turn.steps import Chunk, Event, Step
from headworks.server.visit.visit import Visit
from tests.fakes.clocks import HandClock
from tests.fakes.engines import TalkingEngine
from tests.fakes.judges import AllowingJudge
from tests.fakes.preprocessors import LetteredVoice
from tests.server.edge import served_by
from tests.server.rpc.watching import Watcher

VISIT = Visit(Caller("local", "loopback", AuthenticatedBy.LOOPBACK), is_encrypted=False, is_loopback=True, peer="here")


class TextAndLetters:
    """Intake of text, and of bytes that stand for speech."""

    def open_part(self, modality: Modality, part: int, form: VoiceForm, owner: str) -> Preprocessor:
        return LetteredVoice(part) if modality is Modality.VOICE else TextPreprocessor(part, TextSettings())


@dataclass
class Turns:
    """A runner, what stands behind it, and what it sent."""

    engine: Engine = field(default_factory=TalkingEngine)
    judge: Judge = field(default_factory=AllowingJudge)
    settings: TurnSettings = field(default_factory=TurnSettings)
    flow: FlowSettings = field(default_factory=FlowSettings)
    clock: HandClock = field(default_factory=HandClock)
    events: list[Event] = field(default_factory=list)
    watcher: Watcher = field(default_factory=Watcher)

    def __post_init__(self) -> None:
        self.admission = Admission(self.flow, self.clock, self.engine.load)
        self.meter = Meter(MemoryState(StateSettings(), self.clock), 10, self.settings.max_seconds)
        served = served_by(self.engine)
        opening = Opening(served, self.judge, TrustSettings(), self.admission, self.meter, self.settings, self.clock)
        self.runner = TurnRunner(
            served=served,
            intake=TextAndLetters(),
            opening=opening,
            observer=self.watcher,
            settings=self.settings,
            clock=self.clock,
        )

    async def converse(self, steps: AsyncIterator[Step], deadline_seconds: float | None = None) -> None:
        await self.runner.converse(VISIT, steps, self._sink, turn_id="t", deadline_seconds=deadline_seconds)

    async def _sink(self, event: Event) -> None:
        self.events.append(event)


async def sent(*steps: Step) -> AsyncGenerator[Step, None]:
    """Send steps and end."""
    for step in steps:
        yield step


async def kept_open(*steps: Step) -> AsyncGenerator[Step, None]:
    """Send steps, then nothing, without an end."""
    for step in steps:
        yield step
    await asyncio.Event().wait()


def words(text: str, *, is_last: bool = True) -> Chunk:
    return Chunk(Modality.TEXT, text.encode(), is_last)


def speech(letters: str, *, is_last: bool = False) -> Chunk:
    return Chunk(Modality.VOICE, letters.encode(), is_last)


async def passes(until: Callable[[], object]) -> None:
    """Let every task go on until it holds; fail when it does not after many passes of the loop."""
    for _ in range(1_000):
        if until():
            return
        await asyncio.sleep(0)
    raise AssertionError("it did not come to that")
