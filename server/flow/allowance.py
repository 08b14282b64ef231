"""What is left of a rate."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a tenant has left of one rate that it is held to."""

    limit: str
    """The obligation, as a refusal names it ("obligations.tokens_per_day")."""
    allowed: int
    """Turns or tokens in its second, minute or day."""
    remaining: int
    """What may be spent now, never below 0."""
    full_in_seconds: float
    """How long until nothing of it is spent, if nothing more is."""


def remaining_of(allowances: Iterable[Allowance], obligation: str) -> int | None:
    """Return what is left of one rate; None where it is not among them."""
    limit = f"obligations.{obligation}"
    return next((allowance.remaining for allowance in allowances if allowance.limit == limit), None)
