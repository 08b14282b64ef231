"""What goes into a turn and what comes out of it, without protobuf."""

from dataclasses import dataclass, field

from headworks.intake.finding import Finding
from headworks.intake.span import Modality, Span
from headworks.intake.voice.encoding import VoiceForm
from headworks.policy.trust.assess import Trust
from headworks.policy.verdict import Verdict
from headworks.server.engine.engine import FinishReason


@dataclass(frozen=True, slots=True)
class Setup:
    """The first step: what the turn is to be."""

    model: str = ""
    """Empty: the served one."""
    instructions: str = ""
    purpose: str = ""
    voice: VoiceForm = field(default_factory=VoiceForm)
    max_output_tokens: int = 0
    """0: the server's default."""
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None


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
    queue: float = 0.0
    policy: float = 0.0
    intake: tuple[tuple[Modality, float], ...] = ()
    """By modality: from a part's last byte to its last span, summed over parts."""
    first_token: float = 0.0
    generation: float = 0.0


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, as booked."""

    input_tokens: int = 0
    output_tokens: int = 0
    remaining_tokens_per_minute: int | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """The turn ended well."""

    reason: FinishReason
    usage: Usage
    timings: Timings
    judgement: Judgement


Event = Accepted | Found | Delta | Finished


@dataclass(frozen=True, slots=True)
class Normalized:
    """What Normalize returns."""

    turn_id: str
    spans: tuple[Span, ...]
    prompt_tokens: int
    judgement: Judgement
