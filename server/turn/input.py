"""The input side of a turn: steps in, findings down to the prompt, each part read while it arrives."""

import asyncio
from collections.abc import AsyncIterator

from headworks.intake.errors import IntakeError, TooLarge
from headworks.intake.preprocessor import Preprocessor
from headworks.intake.span import Modality
from headworks.intake.voice.encoding import AudioEncoding, VoiceForm
from headworks.server.clock import Clock
from headworks.server.turn.errors import OutOfOrder, TurnTimedOut
from headworks.server.turn.lane import Intake, Lane
from headworks.server.turn.limit import TurnLimit, next_step
from headworks.server.turn.prompt import TurnPrompt
from headworks.server.turn.record import TurnRecord
from headworks.server.turn.settings import InputSettings
from headworks.server.turn.steps import Chunk, Setup, Step


class TurnInput:
    """Reads one turn's input. Audio has its own lane; all else is read in the order it came."""

    def __init__(
        self,
        voice: VoiceForm,
        intake: Intake,
        prompt: TurnPrompt,
        record: TurnRecord,
        settings: InputSettings,
        clock: Clock,
        limit: TurnLimit,
    ) -> None:
        """Prepare to read.

        Args:
            prompt: Is asked before the first byte of each part is kept, and given every finding.
            limit: Speech that still arrives is cut a little before it, so that its words reach the caller in time.
        """
        self._prompt = prompt
        self._record = record
        self._settings = settings
        self._clock = clock
        self._limit = limit
        kept = min(settings.last_words_seconds, limit.seconds / 4)
        self._last_words_at = record.began_at + limit.seconds - kept
        self._ran_out: TurnTimedOut | None = None

        def open_part(modality: Modality, part: int) -> Preprocessor:
            return intake.open_part(modality, part, voice, record.tenant)

        stream = {Modality.VOICE} if voice.encoding is AudioEncoding.LINEAR16 else set()
        queued = settings.max_queued_chunks
        self._voice = Lane(open_part, frozenset(stream), queued, record, clock)
        self._others = Lane(open_part, frozenset({Modality.TEXT}), queued, record, clock)
        self._begun: list[Lane] = []
        self._parts = 0

    async def run(self, first: Chunk, steps: AsyncIterator[Step]) -> None:
        """Read from the first chunk to the end of input.

        When time runs out before that, what came is read to its end, so that words that were heard become final.

        Raises:
            OutOfOrder: a second setup, or a part begun inside another.
            BadMedia, TooLarge: from a preprocessor, or a part that was cut short.
            TurnTimedOut: no step for too long, or the caller's deadline is near.
        """
        async with asyncio.TaskGroup() as lanes:
            try:
                await self._dispatch(first, steps, lanes)
            except TurnTimedOut as error:
                self._ran_out = error
            for lane in self._begun:
                await lane.close()
        if self._ran_out is not None:
            raise self._ran_out

    async def _read(self, lane: Lane) -> None:
        """Read a lane to its end. That a part was cut is no news once time ran out, and must not end the other lane."""
        try:
            await lane.run(self._prompt.take)
        except IntakeError:
            if self._ran_out is None:
                raise

    async def _dispatch(self, first: Chunk, steps: AsyncIterator[Step], lanes: asyncio.TaskGroup) -> None:
        step: Step | None = first
        while isinstance(step, Chunk):
            await self._take(step, lanes)
            step = await self._next(steps)
        if isinstance(step, Setup):
            raise OutOfOrder("a second setup; setup comes first and once")
        self._record.input_ended()

    async def _next(self, steps: AsyncIterator[Step]) -> Step | None:
        idle = self._settings.idle_seconds
        if self._voice.open_modality is not None:
            left = self._last_words_at - self._clock.now()
            if left < idle:
                return await next_step(steps, max(0.0, left), self._limit.name, self._clock)
        return await next_step(steps, idle, "turn.input.idle_seconds", self._clock)

    async def _take(self, chunk: Chunk, lanes: asyncio.TaskGroup) -> None:
        lane = self._voice if chunk.modality is Modality.VOICE else self._others
        if lane not in self._begun:
            self._begun.append(lane)
            lanes.create_task(self._read(lane))
        if lane.open_modality is None:
            self._prompt.check(chunk.modality)
            self._parts += 1
            if self._parts > self._settings.max_parts:
                raise TooLarge("turn.input.max_parts", self._settings.max_parts, self._parts)
        self._record.received(chunk)
        self._prompt.check_size(chunk.modality, self._record.bytes_by_modality[chunk.modality])
        await lane.put(chunk)


async def expect_no_more(steps: AsyncIterator[Step]) -> None:
    """Return when the sender ends its side; it may leave that for later than `end_of_input`.

    Raises:
        OutOfOrder: a step came after the end.
    """
    if await anext(steps, None) is not None:
        raise OutOfOrder("a step after end_of_input")
