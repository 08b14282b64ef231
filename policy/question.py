"""The question that a judge is asked. It holds names and counts: no content ever reaches policy or its logs."""

from dataclasses import dataclass
from enum import StrEnum

from headworks.policy.facts import InputFacts
from headworks.policy.identity.caller import Caller
from headworks.policy.trust.assess import Trust


class Stage(StrEnum):
    """The moment of a turn at which the question is asked."""

    OPEN = "open"
    """Before any input is read. The question is whether this caller may open this turn."""
    INPUT = "input"
    """Before tokens go to the engine. The question is whether the input, as far as it came, may go to this model."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question: whether `caller` may have `model` do this."""

    turn_id: str
    stage: Stage
    caller: Caller
    model: str
    """The served model's name."""
    purpose: str
    """The purpose that the caller claims the turn has; "" when they claim none. Nobody has checked it."""
    max_output_tokens: int
    """The longest answer that the caller asks for, or the server's default when they ask for none."""
    input: InputFacts
    trust: Trust
