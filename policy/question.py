"""What a judge is asked. Digests and counts only: no content ever reaches policy or its logs."""

from dataclasses import dataclass
from enum import StrEnum

from headworks.policy.facts import InputFacts
from headworks.policy.identity.caller import Caller
from headworks.policy.trust.assess import Trust


class Stage(StrEnum):
    """When in a turn the question is asked."""

    OPEN = "open"
    """Before any media is read: may this caller open this turn?"""
    INPUT = "input"
    """Before spans go to the engine: may what is now known about the input go to this model?"""


@dataclass(frozen=True, slots=True)
class Question:
    """May `caller` do this?"""

    turn_id: str
    stage: Stage
    caller: Caller
    model: str
    """The served model's name."""
    purpose: str
    """What the caller said the turn is for; "" when they did not. A claim, not a fact."""
    max_output_tokens: int
    """Asked for."""
    input: InputFacts
    trust: Trust
