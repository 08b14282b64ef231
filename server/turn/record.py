"""The facts of one turn, and the port through which sinks are told of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from headworks.intake.span import Modality
from headworks.policy.question import Stage
from headworks.server.clock import Clock
from headworks.server.turn.steps import Chunk, Judgement, Timings, Usage
from headworks.server.visit.visit import Visit


class Outcome(StrEnum):
    """How a turn ended."""

    FINISHED = "finished"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the turn was not allowed, or not allowed to go on."""

    decision_id: str
    reasons: tuple[str, ...]


class TurnObserver(Protocol):
    """Is told facts; must not raise and must not block."""

    def turn_started(self, record: "TurnRecord") -> Mapping[str, str]:
        """Return the W3C headers that name the turn's own span, for the engine; empty when nothing is traced."""
        ...

    def judged(self, record: "TurnRecord", stage: Stage, judgement: Judgement, seconds: float) -> None:
        """Policy answered, or the gateway refused by an obligation that policy had set."""
        ...

    def no_verdict(self, record: "TurnRecord", stage: Stage, reason: str, decision_id: str) -> None:
        """Policy did not answer; the turn is refused."""
        ...

    def turn_finished(self, record: "TurnRecord") -> None:
        """The turn is over, however it ended."""
        ...


class TurnRecord:
    """Keeps what is known of one turn, in ids, counts and durations, whatever its outcome; nothing else does.

    The steps of the turn report to it as they happen; sinks read it. It is right at every moment, so a turn that
    was refused, failed or cancelled has the times and the tokens of as far as it came.
    """

    def __init__(self, turn_id: str, visit: Visit, model: str, observer: TurnObserver, clock: Clock) -> None:
        self.turn_id = turn_id
        self.tenant = visit.caller.tenant
        self.model = model
        self.trace_headers = visit.trace_headers
        """W3C trace context, from the caller."""
        self.outcome = Outcome.FAILED
        self.error = ""
        """The error's class when the turn did not finish."""
        self.limit = ""
        """The limit that ended it, as the error names it; empty where none did."""
        self.service_class = ""
        """The class of service that it waits and runs in, once that is known."""
        self.messages = 0
        """Sent to the caller with tokens of the answer; fewer than tokens where several share one."""
        self.longest_gap_seconds = 0.0
        """Between two tokens of the answer."""
        self.seconds = 0.0
        """From the call to its end; 0 until then."""
        self.refusal: Refusal | None = None
        self.bytes_by_modality: dict[Modality, int] = {}
        """Received so far."""
        self.input_tokens = 0
        """Given to the engine, or to the caller of Normalize, so far."""
        self.output_tokens = 0
        self.engine_headers: Mapping[str, str] = {}
        """W3C trace context of the turn's own span."""
        self._observer = observer
        self._clock = clock
        self.began_at = clock.now()
        """When the call came, on the clock."""
        self._accept_seconds = self._queue_seconds = self._policy_seconds = 0.0
        self._is_in_line = False
        self._intake_seconds: dict[Modality, float] = {}
        self._work_at = self._input_ended_at = self._first_at = self._last_at = None  # type: float | None

    @property
    def modalities(self) -> tuple[str, ...]:
        """The kinds of input that came, sorted."""
        return tuple(sorted(modality.value for modality in self.bytes_by_modality))

    @property
    def usage(self) -> Usage:
        """Tokens so far."""
        return Usage(self.input_tokens, self.output_tokens)

    @property
    def has_waited(self) -> bool:
        """Whether the turn came so far that it needed a permit, and no longer waits for one."""
        return self._work_at is not None and not self._is_in_line

    @property
    def timings(self) -> Timings:
        """Times so far; what was not reached is 0."""
        first, ended = self._first_at, self._input_ended_at
        return Timings(
            accept=self._accept_seconds,
            queue=self._queue_seconds,
            policy=self._policy_seconds,
            intake=tuple(self._intake_seconds.items()),
            first_token=first - ended if first is not None and ended is not None else 0.0,
            generation=self._last_at - first if self._last_at is not None and first is not None else 0.0,
        )

    def started(self) -> None:
        """The call came."""
        self.engine_headers = dict(self._observer.turn_started(self))

    def judged(self, stage: Stage, judgement: Judgement, seconds: float) -> None:
        """Policy answered after so long, or the gateway did in its name."""
        self._asked(stage, seconds)
        if not judgement.verdict.allow:
            self.refusal = Refusal(judgement.verdict.decision_id, judgement.verdict.reasons)
        self._observer.judged(self, stage, judgement, seconds)

    def not_judged(self, stage: Stage, reason: str, decision_id: str, seconds: float) -> None:
        """Policy did not answer, and it took so long to know."""
        self._asked(stage, seconds)
        self.refusal = Refusal(decision_id, (reason,))
        self._observer.no_verdict(self, stage, reason, decision_id)

    def left_unjudged(self, stage: Stage, seconds: float) -> None:
        """The turn ended while it waited so long for policy."""
        self._asked(stage, seconds)

    def work_came(self) -> None:
        """The first chunk is here; the turn now waits for a permit."""
        self._work_at = self._clock.now()
        self._is_in_line = True

    def permitted(self) -> None:
        """The turn waits no more: it holds a permit, or it has ended without one."""
        self._is_in_line = False
        self._queue_seconds = self._clock.now() - (self._work_at or self.began_at)

    def received(self, chunk: Chunk) -> None:
        """A chunk was taken in."""
        sizes = self.bytes_by_modality
        sizes[chunk.modality] = sizes.get(chunk.modality, 0) + len(chunk.data)

    def part_read(self, modality: Modality, ended_at: float) -> None:
        """A part whose last byte came at that time is read."""
        elapsed = self._clock.now() - ended_at
        self._intake_seconds[modality] = self._intake_seconds.get(modality, 0.0) + elapsed

    def input_ended(self) -> None:
        """The input is known to be whole."""
        self._input_ended_at = self._clock.now()

    def fed(self, tokens: int) -> None:
        """So many more tokens of the prompt are certain."""
        self.input_tokens += tokens

    def answered(self, tokens: int) -> None:
        """So many more tokens of the answer came."""
        now = self._clock.now()
        if self._last_at is None:
            self._first_at = now
        else:
            self.longest_gap_seconds = max(self.longest_gap_seconds, now - self._last_at)
        self._last_at = now
        self.output_tokens += tokens

    def message_sent(self) -> None:
        """A message with tokens of the answer is with the caller."""
        self.messages += 1

    def ended(self, outcome: Outcome, error: str = "", limit: str = "") -> None:
        """The turn is over."""
        self.outcome, self.error, self.limit = outcome, error, limit
        if self._is_in_line:
            self.permitted()
        self.seconds = self._clock.now() - self.began_at
        self._observer.turn_finished(self)

    def _asked(self, stage: Stage, seconds: float) -> None:
        self._policy_seconds += seconds
        if stage is Stage.OPEN:
            self._accept_seconds = self._clock.now() - self.began_at


class SilentObserver:
    """Hears everything and says nothing."""

    def turn_started(self, record: TurnRecord) -> Mapping[str, str]:
        return {}

    def judged(self, record: TurnRecord, stage: Stage, judgement: Judgement, seconds: float) -> None:
        pass

    def no_verdict(self, record: TurnRecord, stage: Stage, reason: str, decision_id: str) -> None:
        pass

    def turn_finished(self, record: TurnRecord) -> None:
        pass
