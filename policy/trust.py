"""Trust: one number in [0, 1] from what is known about the caller and the input, with its reasons."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trust:
    """A score with the factors it is the product of."""

    score: float
    """In [0, 1]; 1 is full trust."""
    factors: tuple[tuple[str, float], ...]
    """(name, factor in [0, 1]) in a fixed order; factors of 1 are left out."""
