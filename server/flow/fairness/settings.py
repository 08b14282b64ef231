"""How the order of turns is made."""

import math
from dataclasses import dataclass
from enum import StrEnum


class OrderKind(StrEnum):
    """Adapters of the port to an order."""

    VIRTUAL_COUNTERS = "virtual_counters"
    """By tokens, among tenants and then among a tenant's callers."""
    WEIGHTED_SHARE = "weighted_share"
    """By requests, among tenants, as their weights say."""
    ROUND_ROBIN = "round_robin"
    """By requests, one tenant after the other."""
    FIRST_COME = "first_come"
    """Whoever waits longest."""


@dataclass(frozen=True, slots=True)
class FairnessSettings:
    """Whose turn is next among those that wait."""

    order: OrderKind = OrderKind.VIRTUAL_COUNTERS
    """The others are there to be compared with it."""
    input_price: float = 1.0
    """What a token of a prompt counts."""
    output_price: float = 2.0
    """What a token of an answer counts: it holds a place in the batch for a whole step. The ratio of 1 to 2 is that of
    "Fairness in Serving Large Language Models" (OSDI 2024), section 4.1."""
    band_tokens: float = 256.0
    """Priced tokens between two tenants, or two callers of one, within which the one who waits longest goes first:
    differences smaller than a short turn are chance, and waits are not."""
    banked_tokens: float = 0.0
    """Priced tokens that a tenant, or a caller, may have saved up when it comes anew, so that the first turns of one
    that sends few are next at once. 0: whoever was away has no more right than the others."""
    max_debtors: int = 128
    """Tenants that have gone while they were ahead of their share, and callers of one tenant, that are remembered
    until the others have caught up, so that nobody gains by leaving for a moment. The smallest debt is forgotten
    first; all are once nobody waits or runs."""

    def __post_init__(self) -> None:
        prices = (self.input_price, self.output_price)
        if not all(math.isfinite(price) and price >= 0 for price in prices) or not any(prices):
            raise ValueError("input_price and output_price must be at least 0, and one of them above 0")
        for name in ("band_tokens", "banked_tokens", "max_debtors"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be at least 0")
