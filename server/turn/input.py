"""The input side of a turn: steps in, findings out, each part read while it arrives."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.finding import Finding
from headworks.intake.preprocessor import Preprocessor
from headworks.intake.span import Modality
from headworks.intake.voice.encoding import AudioEncoding
from headworks.server.clock import Clock
from headworks.server.turn.errors import OutOfOrder, TurnTimedOut
from headworks.server.turn.settings import InputSettings
from headworks.server.turn.steps import Chunk, EndOfInput, Setup, Step

Handle = Callable[[Finding], Awaitable[None]]
OpenPart = Callable[[Modality, int], Preprocessor]
"""Makes the preprocessor of the n-th part of a kind."""


@dataclass(slots=True)
class InputMeasures:
    """What is known about the input besides its content."""

    bytes_by_modality: dict[Modality, int] = field(default_factory=dict)
    seconds_by_modality: dict[Modality, float] = field(default_factory=dict)
    """From a part's last byte to its last span, summed over parts."""
    ended_at: float | None = None
    """When the input was known to be whole."""


class TurnInput:
    """Reads one turn's steps after its setup. Audio has its own lane; all else is read in the order it came."""

    def __init__(
        self,
        setup: Setup,
        open_part: OpenPart,
        check: Callable[[Modality], None],
        settings: InputSettings,
        clock: Clock,
    ) -> None:
        """Prepare to read.

        Args:
            check: Called before the first byte of each part is kept; raises when the kind is not allowed.
        """
        self.measures = InputMeasures()
        self._check = check
        self._settings = settings
        self._clock = clock
        may_stop_short = setup.voice.encoding is AudioEncoding.LINEAR16
        self._voice = _Lane(self, open_part, {Modality.VOICE} if may_stop_short else set())
        self._others = _Lane(self, open_part, {Modality.TEXT})
        self._parts = 0

    async def run(self, steps: AsyncIterator[Step], handle: Handle) -> None:
        """Read to the end of input; call `handle` with one finding at a time.

        Raises:
            OutOfOrder: a second setup, or a part begun inside another.
            BadMedia, TooLarge: from a preprocessor, or a part that was cut short.
            TurnTimedOut: no step for too long.
        """
        one_at_a_time = asyncio.Lock()

        async def in_turn(finding: Finding) -> None:
            async with one_at_a_time:
                await handle(finding)

        async with asyncio.TaskGroup() as lanes:
            lanes.create_task(self._voice.run(in_turn))
            lanes.create_task(self._others.run(in_turn))
            await self._dispatch(steps)
            await self._voice.close()
            await self._others.close()

    async def _dispatch(self, steps: AsyncIterator[Step]) -> None:
        while True:
            step = await next_step(steps, self._settings.idle_seconds, "turn.input.idle_seconds")
            match step:
                case Setup():
                    raise OutOfOrder("a second setup; setup comes first and once")
                case Chunk():
                    await self._take(step)
                case EndOfInput() | None:
                    break
        self.measures.ended_at = self._clock.now()

    async def _take(self, chunk: Chunk) -> None:
        lane = self._voice if chunk.modality is Modality.VOICE else self._others
        if lane.open_modality is None:
            self._check(chunk.modality)
            self._parts += 1
            if self._parts > self._settings.max_parts:
                raise TooLarge("turn.input.max_parts", self._settings.max_parts, self._parts)
        sizes = self.measures.bytes_by_modality
        sizes[chunk.modality] = sizes.get(chunk.modality, 0) + len(chunk.data)
        await lane.put(chunk)


class _Lane:
    """Parts of some kinds, one after the other."""

    def __init__(self, owner: TurnInput, open_part: OpenPart, may_stop_short: set[Modality]) -> None:
        self.open_modality: Modality | None = None
        """The kind whose part has begun and not ended, on the sending side."""
        self._owner = owner
        self._open_part = open_part
        self._may_stop_short = may_stop_short
        self._queue: asyncio.Queue[Chunk | None] = asyncio.Queue(owner._settings.max_queued_chunks)
        self._counts: dict[Modality, int] = {}

    async def put(self, chunk: Chunk) -> None:
        if self.open_modality not in (None, chunk.modality):
            raise OutOfOrder(f"{chunk.modality} began before the {self.open_modality} part had its last chunk")
        self.open_modality = None if chunk.is_last else chunk.modality
        await self._queue.put(chunk)

    async def close(self) -> None:
        await self._queue.put(None)

    async def run(self, handle: Handle) -> None:
        while (first := await self._queue.get()) is not None:
            number = self._counts[first.modality] = self._counts.get(first.modality, 0) + 1
            reading = _Reading(self._queue, first, number, first.modality in self._may_stop_short, self._owner._clock)
            async with aclosing(self._open_part(first.modality, number).process(reading.chunks())) as findings:
                async for finding in findings:
                    await handle(finding)
            await reading.skip_rest()
            seconds = self._owner.measures.seconds_by_modality
            elapsed = self._owner._clock.now() - reading.ended_at
            seconds[first.modality] = seconds.get(first.modality, 0.0) + elapsed
            if reading.is_lane_closed:
                return


class _Reading:
    """The chunks of one part, out of a lane's queue."""

    def __init__(
        self, queue: "asyncio.Queue[Chunk | None]", first: Chunk, number: int, may_stop_short: bool, clock: Clock
    ) -> None:
        self.ended_at = clock.now()
        self.is_lane_closed = False
        self._is_over = False
        self._queue = queue
        self._next: Chunk | None = first
        self._name = f"{first.modality} {number}"
        self._may_stop_short = may_stop_short
        self._clock = clock

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        while not self._is_over:
            chunk = self._next or await self._queue.get()
            self._next = None
            if chunk is None or chunk.is_last:
                self._is_over = True
                self.is_lane_closed = chunk is None
                self.ended_at = self._clock.now()
            if chunk is not None:
                yield chunk.data
        if self.is_lane_closed and not self._may_stop_short:
            raise BadMedia(f"{self._name} was cut short: the input ended before its last chunk")

    async def skip_rest(self) -> None:
        """Drop what the preprocessor did not ask for."""
        async with aclosing(self.chunks()) as rest:
            async for _ in rest:
                pass


async def next_step(steps: AsyncIterator[Step], seconds: float, limit: str) -> Step | None:
    """Return the next step, or None at the end.

    Raises:
        TurnTimedOut: none came in time; names `limit`.
    """
    try:
        async with asyncio.timeout(seconds):
            return await anext(steps, None)
    except TimeoutError as error:
        raise TurnTimedOut(limit) from error


async def expect_no_more(steps: AsyncIterator[Step]) -> None:
    """Return when the sender ends its side; it may leave that for later than `end_of_input`.

    Raises:
        OutOfOrder: a step came after the end.
    """
    if await anext(steps, None) is not None:
        raise OutOfOrder("a step after end_of_input")
