"""A judge's answer, and what it obliges the gateway to."""

from dataclasses import dataclass, field

from headworks.policy.decision import new_decision_id

GATEWAY = "gateway"
"""The name of the judge where the gateway itself refuses, as an earlier verdict obliges it to."""


CEILINGS = (
    "max_input_tokens",
    "max_output_tokens",
    "turns_per_minute",
    "tokens_per_minute",
    "turns_per_second",
    "turns_per_day",
    "tokens_per_second",
    "tokens_per_day",
    "max_concurrent_turns",
)
"""Obligations that are ceilings; none of them is none, and zero means never."""


@dataclass(frozen=True, slots=True)
class Obligations:
    """What the gateway must hold the turn to when it is allowed. A ceiling of None is none."""

    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    turns_per_minute: int | None = None
    """Of the caller's tenant."""
    tokens_per_minute: int | None = None
    """Of the caller's tenant, input and output together."""
    turns_per_second: int | None = None
    """Of the caller's tenant, as the next four."""
    turns_per_day: int | None = None
    tokens_per_second: int | None = None
    """Input and output together. A turn that runs is not ended for it, the next one waits."""
    tokens_per_day: int | None = None
    """Input and output together."""
    max_concurrent_turns: int | None = None
    """Turns that run at once."""
    weight: float = 1.0
    """The tenant's share when tenants wait for each other: one of weight 2 is served twice as many tokens as one of
    1."""
    per_subject: bool = False
    """Whether each subject of the tenant has the rates and the turns at once for itself."""
    cut_answers: bool = False
    """Whether an answer ends with the last token that the minute or the day has for it, so that neither is exceeded."""
    modalities: tuple[str, ...] = ()
    """The kinds of input that the turn may carry, from `facts.MODALITIES`; none unless they are named."""
    max_bytes: tuple[tuple[str, int], ...] = ()
    """(modality, the most bytes of it in one turn), sorted by modality; one that is not named has no such ceiling."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One decision. A refusal is a verdict too, not an exception."""

    allow: bool
    decision_id: str
    """Unique; what a refused caller quotes."""
    reasons: tuple[str, ...]
    """Codes in UPPER_SNAKE ("MODALITY_NOT_ALLOWED"); may be empty when allowed, never when refused."""
    judge: str
    """Who decided: the adapter that answered ("regorus", "opa"), or `GATEWAY`."""
    revision: str = ""
    """The revision of the policy bundle that decided."""
    obligations: Obligations = field(default_factory=Obligations)


def refused_by_gateway(latest: Verdict, reason: str) -> Verdict:
    """Return the refusal that follows from an allow whose obligations a turn has now gone against.

    It is a decision of its own, so it has an id of its own: the id of `latest` stands in the log for an allow.

    Args:
        latest: The verdict that obliges; its revision is the refusal's too.
        reason: A code in UPPER_SNAKE.
    """
    return Verdict(
        allow=False,
        decision_id=new_decision_id(),
        reasons=(reason,),
        judge=GATEWAY,
        revision=latest.revision,
    )
