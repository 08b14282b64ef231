"""What a judge is asked. Digests and counts only: no content ever reaches policy or its logs."""

from dataclasses import dataclass
from enum import StrEnum

from headworks.policy.identity import Caller
from headworks.policy.trust import Trust


class Stage(StrEnum):
    """When in a turn the question is asked."""

    OPEN = "open"
    """Before any media is read: may this caller open this turn?"""
    INPUT = "input"
    """Before spans go to the engine: may what is now known about the input go to this model?"""


@dataclass(frozen=True, slots=True)
class LabelFact:
    """A label that intake derived, best of its set."""

    set_name: str
    name: str
    score: float
    """In [0, 1]."""


@dataclass(frozen=True, slots=True)
class InputFacts:
    """What intake derived from the input so far; all zero at `Stage.OPEN`."""

    modalities: tuple[str, ...] = ()
    """Sorted, without repeats: "image", "table", "text", "voice"."""
    bytes_by_modality: tuple[tuple[str, int], ...] = ()
    """(modality, bytes received), sorted by modality."""
    tokens: int = 0
    """Prompt tokens so far, the spans in question included."""
    lowest_confidence: float | None = None
    """The least confidence of any span so far, in [0, 1]; None when no span has one."""
    labels: tuple[LabelFact, ...] = ()


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
