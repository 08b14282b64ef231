"""What a judge answers."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Obligations:
    """What the gateway must hold the turn to when it is allowed."""

    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    turns_per_minute: int | None = None
    """For the caller's tenant."""
    tokens_per_minute: int | None = None
    """Input and output, for the caller's tenant."""
    modalities: tuple[str, ...] = ("image", "table", "text", "voice")
    """What the turn may carry."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One decision. A refusal is a verdict too, not an exception."""

    allow: bool
    decision_id: str
    """Unique; what a refused caller quotes."""
    reasons: tuple[str, ...]
    """Codes in UPPER_SNAKE from the policy ("MODALITY_NOT_ALLOWED"); may be empty when allowed, never when refused."""
    judge: str
    """Which adapter answered: "regorus" or "opa"."""
    revision: str = ""
    """The revision of the policy bundle that decided."""
    obligations: Obligations = field(default_factory=Obligations)
