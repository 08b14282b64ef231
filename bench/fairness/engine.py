"""A model of an engine that batches: in one step each running turn gets a token, and prompts are read in chunks."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from headworks.server.clock import Clock
from headworks.server.engine.engine import EngineLoad

_BETWEEN_SECONDS = 1e-6
"""Between two steps. In virtual time all that follows from the end of a turn happens before this has passed, so that
whoever takes its place is in the next step."""


@dataclass(frozen=True, slots=True)
class EngineModel:
    """What a step costs. The figures are of a middling GPU and a small model; only ratios are read off them."""

    step_seconds: float = 0.010
    turn_seconds: float = 0.0005
    """More for each turn that gets a token, so that the gap stretches with the batch."""
    prompt_token_seconds: float = 0.00005
    chunk_tokens: int = 512
    """Of prompts, read in one step at most; the longest wait is read first."""


class Leave(Protocol):
    """A turn's leave to run, which is told what is spent. The gateway's own grant is one."""

    def fed(self, tokens: int) -> None:
        """So many more tokens of the prompt go to the engine."""
        ...

    def input_ended(self) -> None:
        """The engine has the whole prompt."""
        ...

    def answered(self, tokens: int, *, is_last: bool) -> None:
        """So many more tokens of the answer came."""
        ...


@dataclass(slots=True, eq=False)
class Turn:
    """One turn: what it wants, and how far it is. Times are virtual seconds."""

    tenant: str
    came_at: float
    input_tokens: int
    output_tokens: int
    ceiling: int
    weight: float = 1.0
    unread: int = field(init=False)
    answered: int = 0

    def __post_init__(self) -> None:
        self.unread = self.input_tokens

    @property
    def is_over(self) -> bool:
        return self.answered >= self.output_tokens


@dataclass(frozen=True, slots=True)
class Step:
    """What one step took and gave."""

    seconds: float
    read: dict[Turn, int]
    answered: list[Turn]


class Engine:
    """Runs the turns that are let in as one batch."""

    def __init__(self, model: EngineModel, clock: Clock, book: Callable[[Step], None]) -> None:
        """Begin with nothing to do.

        Args:
            book: Is told of each step when it is over.
        """
        self._model = model
        self._clock = clock
        self._book = book
        self._running: dict[Turn, tuple[Leave, asyncio.Future[None]]] = {}
        self._has_work = asyncio.Event()

    async def answer(self, turn: Turn, leave: Leave) -> None:
        """Return when the answer is whole."""
        leave.fed(turn.input_tokens)
        leave.input_ended()
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._running[turn] = leave, over
        self._has_work.set()
        await over

    async def run(self) -> None:
        """Make one step after the other until cancelled."""
        while True:
            await self._has_work.wait()
            done = step(self._model, list(self._running))
            await self._clock.sleep(done.seconds)
            self._book(done)
            for turn in done.answered:
                self._hand_out(turn)
            if not self._running:
                self._has_work.clear()
            await self._clock.sleep(_BETWEEN_SECONDS)

    def load(self) -> EngineLoad:
        """Return its load of the moment; nothing waits inside."""
        return EngineLoad(running=len(self._running), waiting=0, cache_used=0.0)

    def _hand_out(self, turn: Turn) -> None:
        leave, over = self._running[turn]
        leave.answered(1, is_last=turn.is_over)
        if turn.is_over:
            del self._running[turn]
            over.set_result(None)


def step(model: EngineModel, running: list[Turn]) -> Step:
    """Run one step; whoever's prompt is read in it gets its first token in the same step."""
    room, read = model.chunk_tokens, {}
    for turn in running:
        if turn.unread and room:
            read[turn] = min(turn.unread, room)
            room -= read[turn]
            turn.unread -= read[turn]
    answered = [turn for turn in running if not turn.unread]
    for turn in answered:
        turn.answered += 1
    seconds = model.step_seconds + model.turn_seconds * len(answered)
    return Step(seconds + model.prompt_token_seconds * (model.chunk_tokens - room), read, answered)
