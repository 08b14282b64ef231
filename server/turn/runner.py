"""The story of a turn: it opens, input becomes a prompt while it arrives, the engine answers."""

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager

from headworks.policy.errors import JudgeUnavailable
from headworks.server.clock import Clock
from headworks.server.engine.engine import EngineRequest, FinishReason, Sampling
from headworks.server.engine.served import ServedModel
from headworks.server.flow.allowance import remaining_of
from headworks.server.flow.service_class import ServiceClass
from headworks.server.turn.answer import Answer
from headworks.server.turn.errors import TurnRefused, TurnTimedOut
from headworks.server.turn.input import TurnInput, expect_no_more
from headworks.server.turn.lane import Intake
from headworks.server.turn.limit import TurnLimit
from headworks.server.turn.opening import Opening, OpenTurn
from headworks.server.turn.prompt import TurnPrompt
from headworks.server.turn.record import Outcome, TurnObserver, TurnRecord
from headworks.server.turn.settings import TurnSettings
from headworks.server.turn.steps import Finished, Normalized, Sink, Step, Usage
from headworks.server.visit.visit import Visit


class TurnRunner:
    """Runs turns. Knows no gRPC; every way to the model goes through here."""

    def __init__(
        self,
        *,
        served: ServedModel,
        intake: Intake,
        opening: Opening,
        observer: TurnObserver,
        settings: TurnSettings,
        clock: Clock,
    ) -> None:
        self._served = served
        self._intake = intake
        self._opening = opening
        self._observer = observer
        self._settings = settings
        self._clock = clock

    def knock(self, visit: Visit, service_class: ServiceClass, deadline_seconds: float | None) -> None:
        """Refuse a call before anything of it is read, while turns wait in a line that does not empty.

        Raises:
            TooMany, TooLate, Draining: it may not run now.
        """
        self._opening.knock(visit, service_class, self._limit(deadline_seconds))

    async def converse(
        self,
        visit: Visit,
        steps: AsyncIterator[Step],
        sink: Sink,
        *,
        turn_id: str,
        deadline_seconds: float | None = None,
    ) -> None:
        """Run one turn to its `Finished`.

        However it ends, the engine was told, the permit is back and the tokens are booked when this returns.

        Raises:
            TurnError, FlowError, EngineError, IntakeError, PolicyError: what ended the turn; `status.py` lists them.
        """
        async with (
            self._recorded(visit, turn_id, deadline_seconds) as record,
            self._opening.open(visit, record, steps, sink, self._limit(deadline_seconds)) as turn,
        ):
            prompt = TurnPrompt(self._served, turn, record, sink)
            decoder = self._served.text_decoder()
            answer = Answer(
                self._served.engine, decoder, turn.grant, turn.spending, record, self._settings.answer, self._clock
            )
            request = EngineRequest(turn_id, _sampling(turn), record.engine_headers)
            async with asyncio.TaskGroup() as tasks:
                answering = tasks.create_task(answer.run(request, prompt.feed, sink))
                await self._take_in(turn, steps, prompt, record, deadline_seconds)
                watching = tasks.create_task(expect_no_more(steps))
                reason = await answering
                watching.cancel()
            await sink(await _finished(turn, record, reason))

    async def normalize(
        self, visit: Visit, steps: AsyncIterator[Step], *, turn_id: str, deadline_seconds: float | None = None
    ) -> Normalized:
        """Run intake and policy without an answer. Raises as `converse`."""
        async with (
            self._recorded(visit, turn_id, deadline_seconds) as record,
            self._opening.open(visit, record, steps, _ignore, self._limit(deadline_seconds)) as turn,
        ):
            prompt = TurnPrompt(self._served, turn, record, _ignore)
            await self._take_in(turn, steps, prompt, record, deadline_seconds)
            return Normalized(turn_id, tuple(prompt.spans), prompt.feed.tokens, turn.inspection.latest)

    @asynccontextmanager
    async def _recorded(
        self, visit: Visit, turn_id: str, deadline_seconds: float | None
    ) -> AsyncGenerator[TurnRecord, None]:
        """Hold a turn to its time, and record how it ends."""
        record = TurnRecord(turn_id, visit, self._served.name, self._observer, self._clock)
        record.started()
        try:
            async with self._time_limit(deadline_seconds):
                yield record
        except BaseException as error:
            cause = _first_cause(error)
            record.ended(_outcome(cause), type(cause).__name__, getattr(cause, "limit", ""))
            if cause is error:
                raise
            raise cause from None
        record.ended(Outcome.FINISHED)

    @asynccontextmanager
    async def _time_limit(self, deadline_seconds: float | None) -> AsyncGenerator[None, None]:
        limit = self._limit(deadline_seconds)
        expiry: asyncio.Timeout | None = None
        try:
            async with self._clock.timeout(limit.seconds) as expiry:
                yield
        except TimeoutError as error:
            if expiry is None or not expiry.expired():
                raise
            raise TurnTimedOut(limit.name) from error

    def _limit(self, deadline_seconds: float | None) -> TurnLimit:
        """Return what comes first: the caller's deadline or the server's own limit."""
        most = self._settings.max_seconds
        if deadline_seconds is not None and deadline_seconds < most:
            return TurnLimit("deadline", deadline_seconds)
        return TurnLimit("turn.max_seconds", most)

    async def _take_in(
        self,
        turn: OpenTurn,
        steps: AsyncIterator[Step],
        prompt: TurnPrompt,
        record: TurnRecord,
        deadline_seconds: float | None,
    ) -> None:
        """Read all input into the prompt."""
        limit, settings = self._limit(deadline_seconds), self._settings.input
        taking = TurnInput(turn.setup.voice, self._intake, prompt, record, settings, self._clock, limit)
        await taking.run(turn.first, steps)
        await prompt.finish()


def new_turn_id(clock: Callable[[], float] = time.time) -> str:
    """Return an id that sorts by time: 12 hex digits of milliseconds, 16 of chance."""
    return f"{int(clock() * 1000):012x}{secrets.token_hex(8)}"


def _sampling(turn: OpenTurn) -> Sampling:
    setup = turn.setup
    return Sampling(turn.ceiling, temperature=setup.temperature, top_p=setup.top_p, seed=setup.seed)


async def _finished(turn: OpenTurn, record: TurnRecord, reason: FinishReason) -> Finished:
    used = record.usage
    left = await turn.spending.remaining(used.output_tokens)
    usage = Usage(used.input_tokens, used.output_tokens, remaining_of(left, "tokens_per_minute"), left)
    return Finished(reason, usage, record.timings, turn.inspection.latest)


def _first_cause(error: BaseException) -> BaseException:
    """Return the error that ended a task group; the others are its echoes."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _outcome(cause: BaseException) -> Outcome:
    if isinstance(cause, (TurnRefused, JudgeUnavailable)):
        return Outcome.REFUSED
    return Outcome.CANCELLED if isinstance(cause, (asyncio.CancelledError, GeneratorExit)) else Outcome.FAILED


async def _ignore(_: object) -> None:
    """Drop an event that nobody reads."""
