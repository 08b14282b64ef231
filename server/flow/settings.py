"""Limits on how many turns run."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FlowSettings:
    """Limits on turns."""

    max_turns: int = 64
    """Turns at once; the engine's batch should hold as many."""
    max_waiting: int = 256
    """Turns that wait for a permit. Well under 1,000, where gRPC's core starts to shed calls by itself."""
    wait_seconds: float = 5.0
    """How long a turn waits for a permit before it is told to come back."""
    max_tenants: int = 10_000
    """Tenants with a meter or a ledger line of their own; the one seen longest ago makes room."""
