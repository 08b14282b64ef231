"""How a turn opens: setup, first verdict, first chunk of input, and then a permit."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from headworks.intake.errors import BadMedia
from headworks.policy.judge import Judge
from headworks.policy.trust.settings import TrustSettings
from headworks.server.clock import Clock
from headworks.server.engine.served import ServedModel
from headworks.server.flow.admission import Admission
from headworks.server.flow.claim import Claim
from headworks.server.flow.grant import Grant
from headworks.server.flow.meter import Meter, Spending
from headworks.server.flow.service_class import ServiceClass
from headworks.server.turn.errors import BadRequest, OutOfOrder, UnknownModel
from headworks.server.turn.inspection import Inspection
from headworks.server.turn.limit import TurnLimit, next_step
from headworks.server.turn.record import TurnRecord
from headworks.server.turn.settings import TurnSettings
from headworks.server.turn.steps import Accepted, Chunk, Setup, Sink, Step
from headworks.server.visit.visit import Visit


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """A turn that holds a permit and has work to do."""

    setup: Setup
    first: Chunk
    """The input's first chunk."""
    ceiling: int
    """The most tokens of its answer."""
    inspection: Inspection
    spending: Spending
    grant: Grant


class Opening:
    """Opens turns. A call that has sent no input holds no permit, however long it stays silent."""

    def __init__(
        self,
        served: ServedModel,
        judge: Judge,
        trust: TrustSettings,
        admission: Admission,
        meter: Meter,
        settings: TurnSettings,
        clock: Clock,
    ) -> None:
        self._served = served
        self._judge = judge
        self._trust = trust
        self._admission = admission
        self._meter = meter
        self._settings = settings
        self._clock = clock

    def knock(self, visit: Visit, service_class: ServiceClass, limit: TurnLimit) -> None:
        """Refuse a call before anything of it is read, where it could not run in time.

        Raises:
            TooMany, TooLate, Draining: it may not run now.
        """
        now = self._clock.now()
        self._admission.knock(_claim(visit, service_class, 0, now, now + limit.seconds))

    @asynccontextmanager
    async def open(
        self, visit: Visit, record: TurnRecord, steps: AsyncIterator[Step], sink: Sink, limit: TurnLimit
    ) -> AsyncGenerator[OpenTurn, None]:
        """Open a turn for the length of the block, in which it runs.

        However the block ends, the permit is back and the answer's tokens are booked.

        Args:
            limit: The time that the turn has.
        Raises:
            OutOfOrder, BadRequest, UnknownModel, TurnTimedOut: the setup is wrong, or did not come.
            BadMedia: the input ended before it began.
            TurnRefused, JudgeUnavailable: policy does not allow it.
            TooMany, TooLate, Draining: it may not run now.
        """
        tenant = visit.caller.tenant
        inspection = Inspection(visit, record, self._judge, self._trust, self._clock)
        async with self._admission.lobby.stay(tenant, visit.peer) as call:
            setup = await self._setup(steps)
            asked = setup.max_output_tokens or self._settings.answer.default_output_tokens
            deadline = record.began_at + limit.seconds
            kind, now = setup.service_class, self._clock.now()
            self._admission.expect(_claim(visit, kind, asked, now, deadline), call)
            judgement = await inspection.open(setup, asked)
            allowances = await self._meter.admit(visit.caller, inspection.obligations)
            await sink(Accepted(record.turn_id, record.model, judgement, allowances))
            first = await self._first_chunk(steps)
            inspection.check_modality(first.modality)
        record.service_class = kind.value
        record.work_came()
        ceiling = _least(asked, inspection.obligations.max_output_tokens)
        claim = _claim(visit, kind, ceiling, self._clock.now(), deadline, inspection.obligations.weight)
        async with self._admission.grant(claim) as grant:
            record.permitted()
            async with self._meter.reserve(visit.caller, inspection.obligations, ceiling) as spending:
                try:
                    yield OpenTurn(setup, first, _least(ceiling, spending.answer_tokens), inspection, spending, grant)
                finally:
                    spending.charge_output(record.output_tokens)

    async def _setup(self, steps: AsyncIterator[Step]) -> Setup:
        limits = self._settings
        setup = await next_step(steps, limits.input.setup_seconds, "turn.input.setup_seconds", self._clock)
        if not isinstance(setup, Setup):
            raise OutOfOrder("the first step must be setup")
        if setup.model not in ("", self._served.name):
            raise UnknownModel(f"model {setup.model[:64]!r} is not served here; ask for {self._served.name!r}")
        allowed = limits.max_instructions_bytes
        if len(setup.instructions.encode("utf-8", "surrogatepass")) > allowed:
            raise BadRequest(f"setup.instructions is too long, turn.max_instructions_bytes allows {allowed}")
        allowed = limits.answer.max_output_tokens
        if setup.max_output_tokens > allowed:
            raise BadRequest(f"setup.generation.max_output_tokens: turn.answer.max_output_tokens allows {allowed}")
        return setup

    async def _first_chunk(self, steps: AsyncIterator[Step]) -> Chunk:
        idle = self._settings.input.idle_seconds
        step = await next_step(steps, idle, "turn.input.idle_seconds", self._clock)
        match step:
            case Chunk():
                return step
            case Setup():
                raise OutOfOrder("a second setup; setup comes first and once")
            case _:
                raise BadMedia("the input came to no text: nothing was written, said or shown")


def _least(asked: int, ceiling: int | None) -> int:
    return asked if ceiling is None else min(asked, ceiling)


def _claim(
    visit: Visit, service_class: ServiceClass, tokens: int, now: float, deadline: float, weight: float = 1.0
) -> Claim:
    return Claim(
        tenant=visit.caller.tenant,
        caller=visit.caller.subject,
        peer=visit.peer,
        service_class=service_class,
        weight=weight,
        tokens=tokens,
        joined_at=now,
        deadline=deadline,
    )
