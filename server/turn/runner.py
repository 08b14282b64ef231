"""The story of a turn: setup, policy, input that becomes tokens while it arrives, policy again, the answer."""

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Protocol

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.finding import Finding
from headworks.intake.preprocessor import Preprocessor
from headworks.intake.prompt.decoder import TextDecoder
from headworks.intake.prompt.writer import PromptWriter
from headworks.intake.span import Modality, Span
from headworks.intake.voice.encoding import VoiceForm
from headworks.policy.errors import JudgeUnavailable
from headworks.policy.judge import Judge
from headworks.policy.trust.settings import TrustSettings
from headworks.policy.verdict import Obligations
from headworks.server.clock import Clock
from headworks.server.engine.engine import Engine, EngineRequest, FinishReason, Sampling
from headworks.server.flow.admission import Permits
from headworks.server.flow.meter import Meter
from headworks.server.turn.answer import Answer, Sink
from headworks.server.turn.errors import BadRequest, OutOfOrder, TurnRefused, TurnTimedOut, UnknownModel
from headworks.server.turn.feed import PromptFeed
from headworks.server.turn.input import TurnInput, expect_no_more, next_step
from headworks.server.turn.inspection import Inspection
from headworks.server.turn.record import Outcome, TurnObserver, TurnRecord
from headworks.server.turn.settings import TurnSettings
from headworks.server.turn.steps import Accepted, Finished, Found, Normalized, Setup, Step, Timings, Usage
from headworks.server.visit.visit import Visit


class Intake(Protocol):
    """What a turn needs of intake."""

    def open_part(self, modality: Modality, part: int, form: VoiceForm, owner: str) -> Preprocessor:
        """Make the preprocessor of one part.

        Args:
            part: Number of the part within its kind, from 1.
            form: How audio is sent.
            owner: The tenant, for what is kept after the turn.
        """
        ...

    def prompt_writer(self, instructions: str) -> PromptWriter:
        """Make the writer of one prompt."""
        ...

    def text_decoder(self) -> TextDecoder:
        """Make the decoder of one answer."""
        ...


@dataclass(slots=True)
class _Turn:
    """What the steps of one turn share."""

    visit: Visit
    record: TurnRecord
    inspection: Inspection
    engine_headers: dict[str, str]
    started_at: float
    queue_seconds: float = 0.0
    accept_seconds: float = 0.0
    obligations: Obligations = field(default_factory=Obligations)
    feed: PromptFeed = field(default_factory=PromptFeed)
    spans: list[Span] = field(default_factory=list)


class TurnRunner:
    """Runs turns. Knows no gRPC; every way to the model goes through here."""

    def __init__(
        self,
        *,
        engine: Engine,
        judge: Judge,
        intake: Intake,
        permits: Permits,
        meter: Meter,
        observer: TurnObserver,
        clock: Clock,
        settings: TurnSettings,
        trust: TrustSettings,
    ) -> None:
        self._engine = engine
        self._judge = judge
        self._intake = intake
        self._permits = permits
        self._meter = meter
        self._observer = observer
        self._clock = clock
        self._settings = settings
        self._trust = trust

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
        async with self._turn(visit, turn_id, deadline_seconds) as turn:
            setup = await self._open(turn, steps)
            await sink(Accepted(turn_id, turn.record.model, turn.inspection.latest))
            answer = Answer(self._engine, self._intake.text_decoder(), self._settings.answer, self._clock)
            request = EngineRequest(turn_id, _sampling(setup, turn.obligations, self._settings), turn.engine_headers)
            try:
                async with asyncio.TaskGroup() as tasks:
                    answering = tasks.create_task(answer.run(request, turn.feed, sink))
                    taken = await self._take_in(turn, setup, steps, sink)
                    watching = tasks.create_task(expect_no_more(steps))
                    reason = await answering
                    watching.cancel()
                await sink(self._finished(turn, taken, answer, reason))
            finally:
                self._book(turn, answer.measures.output_tokens)

    async def normalize(
        self, visit: Visit, steps: AsyncIterator[Step], *, turn_id: str, deadline_seconds: float | None = None
    ) -> Normalized:
        """Run intake and policy without an answer. Raises as `converse`."""
        async with self._turn(visit, turn_id, deadline_seconds) as turn:
            setup = await self._open(turn, steps)
            await self._take_in(turn, setup, steps, _ignore)
            return Normalized(turn_id, tuple(turn.spans), turn.feed.tokens, turn.inspection.latest)

    @asynccontextmanager
    async def _turn(self, visit: Visit, turn_id: str, deadline_seconds: float | None) -> AsyncGenerator[_Turn, None]:
        """Hold a permit and a time limit, and record how the turn ends."""
        record = TurnRecord(turn_id, visit.caller.tenant, self._engine.model, visit.trace_headers)
        headers = dict(self._observer.turn_started(record))
        inspection = Inspection(visit, record, self._judge, self._trust, self._observer, self._clock)
        turn = _Turn(visit, record, inspection, headers, self._clock.now())
        try:
            async with _time_limit(deadline_seconds, self._settings.max_seconds), self._permits.hold():
                turn.queue_seconds = self._clock.now() - turn.started_at
                yield turn
            record.outcome = Outcome.FINISHED
        except BaseException as error:
            cause = _first_cause(error)
            record.outcome, record.error = _outcome(cause), type(cause).__name__
            if cause is error:
                raise
            raise cause from None
        finally:
            self._observer.turn_finished(record)

    async def _open(self, turn: _Turn, steps: AsyncIterator[Step]) -> Setup:
        setup = await next_step(steps, self._settings.input.setup_seconds, "turn.input.setup_seconds")
        if not isinstance(setup, Setup):
            raise OutOfOrder("the first step must be setup")
        self._check(setup)
        asked = setup.max_output_tokens or self._settings.answer.default_output_tokens
        judgement = await turn.inspection.open(setup, asked)
        turn.obligations = judgement.verdict.obligations
        self._meter.admit(turn.record.tenant, turn.obligations)
        turn.accept_seconds = self._clock.now() - turn.started_at
        return setup

    def _check(self, setup: Setup) -> None:
        if setup.model not in ("", self._engine.model):
            raise UnknownModel(f"model {setup.model[:64]!r} is not served here; ask for {self._engine.model!r}")
        allowed = self._settings.max_instructions_bytes
        if len(setup.instructions.encode()) > allowed:
            raise BadRequest(f"setup.instructions is too long, turn.max_instructions_bytes allows {allowed}")
        allowed = self._settings.answer.max_output_tokens
        if setup.max_output_tokens > allowed:
            raise BadRequest(f"setup.generation.max_output_tokens: turn.answer.max_output_tokens allows {allowed}")

    async def _take_in(self, turn: _Turn, setup: Setup, steps: AsyncIterator[Step], sink: Sink) -> TurnInput:
        """Read all input; every span goes to the feed once policy has seen it."""
        writer = self._intake.prompt_writer(setup.instructions)
        held = writer.start()

        def open_part(modality: Modality, part: int) -> Preprocessor:
            return self._intake.open_part(modality, part, setup.voice, turn.record.tenant)

        async def handle(finding: Finding) -> None:
            nonlocal held
            await sink(Found(finding))
            written = tuple(writer.write(span) for span in finding.spans)
            if not written:
                return
            await turn.inspection.admit(finding, taking.measures.bytes_by_modality, writer.tokens)
            turn.spans.extend(written)
            self._feed(turn, held + tuple(chain.from_iterable(span.token_ids for span in written)))
            held = ()

        taking = TurnInput(setup, open_part, turn.inspection.check_modality, self._settings.input, self._clock)
        await taking.run(steps, handle)
        if not turn.spans:
            raise BadMedia("the input came to no text: nothing was written, said or shown")
        self._feed(turn, writer.finish(), is_last=True)
        return taking

    def _feed(self, turn: _Turn, token_ids: tuple[int, ...], *, is_last: bool = False) -> None:
        """Let the engine have more of the prompt.

        Raises:
            TooLarge: with one token of an answer the prompt would be over what the engine takes.
        """
        needed = turn.feed.tokens + len(token_ids) + 1
        if needed > self._engine.max_model_tokens:
            raise TooLarge(self._engine.max_model_tokens_setting, self._engine.max_model_tokens, needed)
        turn.feed.put(token_ids, is_last=is_last)

    def _finished(self, turn: _Turn, taken: TurnInput, answer: Answer, reason: FinishReason) -> Finished:
        measures = answer.measures
        first_at = measures.first_at or self._clock.now()
        timings = Timings(
            accept=turn.accept_seconds,
            queue=turn.queue_seconds,
            policy=turn.inspection.seconds,
            intake=tuple(taken.measures.seconds_by_modality.items()),
            first_token=first_at - (taken.measures.ended_at or first_at),
            generation=(measures.last_at or first_at) - first_at,
        )
        turn.record.timings = timings
        remaining = self._meter.remaining(turn.record.tenant, turn.obligations)
        if remaining is not None:
            remaining = max(0, remaining - turn.feed.tokens - measures.output_tokens)
        usage = Usage(turn.feed.tokens, measures.output_tokens, remaining)
        return Finished(reason, usage, timings, turn.inspection.latest)

    def _book(self, turn: _Turn, output_tokens: int) -> None:
        turn.record.usage = Usage(turn.feed.tokens, output_tokens)
        self._meter.book(turn.record.tenant, input_tokens=turn.feed.tokens, output_tokens=output_tokens)


def new_turn_id(clock: Callable[[], float] = time.time) -> str:
    """Return an id that sorts by time: 12 hex digits of milliseconds, 16 of chance."""
    return f"{int(clock() * 1000):012x}{secrets.token_hex(8)}"


def _sampling(setup: Setup, obligations: Obligations, settings: TurnSettings) -> Sampling:
    asked = setup.max_output_tokens or settings.answer.default_output_tokens
    ceiling = obligations.max_output_tokens
    return Sampling(
        max_output_tokens=asked if ceiling is None else min(asked, ceiling),
        temperature=setup.temperature,
        top_p=setup.top_p,
        seed=setup.seed,
    )


@asynccontextmanager
async def _time_limit(deadline_seconds: float | None, max_seconds: float) -> AsyncGenerator[None, None]:
    is_callers = deadline_seconds is not None and deadline_seconds < max_seconds
    limit = asyncio.timeout(deadline_seconds if is_callers else max_seconds)
    try:
        async with limit:
            yield
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise TurnTimedOut("deadline" if is_callers else "turn.max_seconds") from error


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
    """Sink of what nobody reads."""
