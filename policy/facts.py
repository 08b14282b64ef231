"""The facts that intake found out about a turn's input, in the counts and names that policy may see."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

MODALITIES = ("image", "table", "text", "voice")
"""Every kind of input that policy knows, sorted."""


@dataclass(frozen=True, slots=True)
class LabelFact:
    """The best label of one label set for one picture."""

    set_name: str
    name: str
    score: float
    """In [0, 1]."""


@dataclass(frozen=True, slots=True)
class InputFacts:
    """What intake derived from the input so far; all zero at `Stage.OPEN`."""

    modalities: tuple[str, ...] = ()
    """Sorted, without repeats, from `MODALITIES`."""
    bytes_by_modality: tuple[tuple[str, int], ...] = ()
    """(modality, bytes received), sorted by modality."""
    tokens: int = 0
    """Prompt tokens so far, the spans in question included."""
    lowest_confidence: float | None = None
    """The least confidence of any span so far, in [0, 1]; None when no span has one."""
    labels: tuple[LabelFact, ...] = ()


def least_confidence(confidences: Iterable[float | None]) -> float | None:
    """Return the least confidence, leaving out those that are None; None when there is no other.

    A confidence that is not a finite number is the least there can be. NaN compares with nothing, so that the built-in
    `min` finds or loses it by its place in the order.
    """
    known = [one if math.isfinite(one) else 0.0 for one in confidences if one is not None]
    return min(known, default=None)
