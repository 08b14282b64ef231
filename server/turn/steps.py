"""What goes into a turn and what comes out of it, without protobuf."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from headworks.intake.finding import Finding
from headworks.intake.span import Modality, Span
from headworks.intake.voice.encoding import AudioEncoding, VoiceForm
from headworks.policy.trust.assess import Trust
from headworks.policy.verdict import Verdict
from headworks.server.engine.engine import FinishReason
from headworks.server.flow.allowance import Allowance
from headworks.server.flow.service_class import ServiceClass
from headworks.server.turn.errors import BadRequest

MAX_PURPOSE_BYTES = 64
"""A purpose is a name that policy compares, not a text."""
MAX_TEMPERATURE = 2.0
"""As the field's APIs have it; above it samplers give noise."""
SAMPLE_RATES_HERTZ = range(8_000, 192_001)
"""Of LINEAR16: from a telephone's to the highest that recorders offer."""
SEEDS = range(-(2**63), 2**63)
"""What vLLM's sampler takes: 64 bits with a sign."""


@dataclass(frozen=True, slots=True)
class Setup:
    """The first step: what the turn is to be. It checks itself, so that every door has the same ranges.

    Raises:
        BadRequest: a value is outside its range; names the field as the contract does.
    """

    model: str = ""
    """Empty: the served one."""
    instructions: str = ""
    purpose: str = ""
    """At most `MAX_PURPOSE_BYTES` in UTF-8."""
    voice: VoiceForm = field(default_factory=VoiceForm)
    max_output_tokens: int = 0
    """0: the server's default."""
    temperature: float = 0.0
    """In [0, `MAX_TEMPERATURE`]; 0 is greedy."""
    top_p: float = 1.0
    """In (0, 1]."""
    seed: int | None = None
    service_class: ServiceClass = ServiceClass.INTERACTIVE

    def __post_init__(self) -> None:
        purpose_bytes = len(self.purpose.encode("utf-8", "surrogatepass"))
        _require(self.max_output_tokens >= 0, "setup.generation.max_output_tokens must not be negative")
        _require(0 <= self.temperature <= MAX_TEMPERATURE, "setup.generation.temperature must lie in [0, 2]")
        _require(0 < self.top_p <= 1, "setup.generation.top_p must lie in (0, 1]")
        _require(self.seed is None or self.seed in SEEDS, "setup.generation.seed must fit in 64 bits")
        _require(purpose_bytes <= MAX_PURPOSE_BYTES, f"setup.purpose is over {MAX_PURPOSE_BYTES} bytes")
        rate = self.voice.sample_rate_hertz
        if self.voice.encoding is AudioEncoding.LINEAR16:
            sentence = "setup.voice.sample_rate_hertz must lie in [8000, 192000] for LINEAR16"
            _require(rate in SAMPLE_RATES_HERTZ, sentence)
        else:
            _require(rate == 0, "setup.voice.sample_rate_hertz is for LINEAR16 only")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of one part."""

    modality: Modality
    data: bytes
    is_last: bool


@dataclass(frozen=True, slots=True)
class EndOfInput:
    """No more input."""


Step = Setup | Chunk | EndOfInput


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with the trust it was given on."""

    verdict: Verdict
    trust: Trust


@dataclass(frozen=True, slots=True)
class Accepted:
    """The turn is open."""

    turn_id: str
    model: str
    judgement: Judgement
    allowances: tuple[Allowance, ...] = ()
    """What the tenant has left of each rate, with this turn counted."""


@dataclass(frozen=True, slots=True)
class Found:
    """Intake found something out."""

    finding: Finding


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of the answer."""

    text: str
    token_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Timings:
    """Where the time of a turn went, in seconds."""

    accept: float = 0.0
    """From the call to the first verdict."""
    queue: float = 0.0
    """From the first chunk of input to the permit."""
    policy: float = 0.0
    intake: tuple[tuple[Modality, float], ...] = ()
    """By modality: from a part's last byte to its last span, summed over parts."""
    first_token: float = 0.0
    """From the end of input to the first token."""
    generation: float = 0.0
    """From the first token to the last."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, as booked."""

    input_tokens: int = 0
    output_tokens: int = 0
    remaining_tokens_per_minute: int | None = None
    """Also one of the allowances."""
    allowances: tuple[Allowance, ...] = ()
    """What the tenant has left of each rate of tokens."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The turn ended well."""

    reason: FinishReason
    usage: Usage
    timings: Timings
    judgement: Judgement


Event = Accepted | Found | Delta | Finished
Sink = Callable[[Event], Awaitable[None]]
"""Gives one event to the caller; waits while the caller does not read."""


@dataclass(frozen=True, slots=True)
class Normalized:
    """What Normalize returns."""

    turn_id: str
    spans: tuple[Span, ...]
    prompt_tokens: int
    judgement: Judgement


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise BadRequest(sentence)
