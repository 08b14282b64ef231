"""Limits on the figures."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StateSettings:
    """How much is remembered."""

    max_keys: int = 70_000
    """Rates and counts that are remembered, seven for each of 10,000 tenants, some 300 bytes each. The one unseen for
    longest is forgotten, and its tenant starts afresh; one that a running turn has reserved from is kept."""

    def __post_init__(self) -> None:
        if self.max_keys < 1:
            raise ValueError("max_keys must be at least 1")
