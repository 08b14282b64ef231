"""A lane reads parts one after the other, each while its chunks still arrive."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Protocol

from headworks.intake.errors import BadMedia
from headworks.intake.finding import Finding, Noted
from headworks.intake.preprocessor import Preprocessor
from headworks.intake.span import Modality
from headworks.intake.voice.encoding import VoiceForm
from headworks.server.clock import Clock
from headworks.server.turn.errors import OutOfOrder
from headworks.server.turn.record import TurnRecord
from headworks.server.turn.steps import Chunk


class Intake(Protocol):
    """The port to intake: makes what reads one part."""

    def open_part(self, modality: Modality, part: int, form: VoiceForm, owner: str) -> Preprocessor:
        """Make the preprocessor of one part.

        Args:
            part: Number of the part within its kind, from 1.
            form: How audio is sent.
            owner: The tenant, for what is kept after the turn.
        """
        ...


OpenPart = Callable[[Modality, int], Preprocessor]
"""Makes the preprocessor of the n-th part of a kind."""
Take = Callable[[Finding], Awaitable[None]]
"""Hands a finding down to the prompt."""


class Lane:
    """Parts of some kinds, one after the other."""

    def __init__(
        self,
        open_part: OpenPart,
        may_stop_short: frozenset[Modality],
        max_queued_chunks: int,
        record: TurnRecord,
        clock: Clock,
    ) -> None:
        """Open a lane.

        Args:
            may_stop_short: The kinds whose last part may end with the input, without a last chunk.
            max_queued_chunks: Chunks that wait for their preprocessor; `put` waits when there are as many.
        """
        self.open_modality: Modality | None = None
        """The kind whose part has begun and not ended, on the sending side."""
        self._open_part = open_part
        self._may_stop_short = may_stop_short
        self._queue: asyncio.Queue[Chunk | None] = asyncio.Queue(max_queued_chunks)
        self._record = record
        self._clock = clock
        self._counts: dict[Modality, int] = {}

    async def put(self, chunk: Chunk) -> None:
        """Add a chunk.

        Raises:
            OutOfOrder: a part of another kind is still open.
        """
        if self.open_modality not in (None, chunk.modality):
            raise OutOfOrder(f"{chunk.modality} began before the {self.open_modality} part had its last chunk")
        self.open_modality = None if chunk.is_last else chunk.modality
        await self._queue.put(chunk)

    async def close(self) -> None:
        """End the lane after what is in it."""
        await self._queue.put(None)

    async def run(self, take: Take) -> None:
        """Read all parts.

        Raises:
            BadMedia, TooLarge: from a preprocessor, or a part that was cut short.
        """
        while (first := await self._queue.get()) is not None:
            reading = await self._read(first, take)
            self._record.part_read(first.modality, reading.ended_at)
            if reading.is_lane_closed:
                return

    async def _read(self, first: Chunk, take: Take) -> "_Reading":
        number = self._counts[first.modality] = self._counts.get(first.modality, 0) + 1
        reading = _Reading(self._queue, first, number, first.modality in self._may_stop_short, self._clock)
        noted: Noted | None = None
        async with aclosing(self._open_part(first.modality, number).process(reading.chunks())) as findings:
            async for finding in findings:
                # Text is quick to read: what is whole here goes down together, so that policy is asked once.
                if reading.is_over and isinstance(finding, Noted):
                    together = finding if noted is None else noted.joined(finding)
                    if together is not None:
                        noted = together
                        continue
                if noted is not None:
                    await take(noted)
                    noted = None
                await take(finding)
        if noted is not None:
            await take(noted)
        await reading.skip_rest()
        return reading


class _Reading:
    """The chunks of one part, out of a lane's queue."""

    def __init__(
        self, queue: "asyncio.Queue[Chunk | None]", first: Chunk, number: int, may_stop_short: bool, clock: Clock
    ) -> None:
        self.ended_at = clock.now()
        self.is_lane_closed = False
        self.is_over = False
        """All of its chunks were handed out."""
        self._queue = queue
        self._next: Chunk | None = first
        self._name = f"{first.modality} {number}"
        self._may_stop_short = may_stop_short
        self._clock = clock

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        while not self.is_over:
            chunk = self._next or await self._queue.get()
            self._next = None
            if chunk is None or chunk.is_last:
                self.is_over = True
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
