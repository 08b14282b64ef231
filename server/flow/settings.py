"""Limits on how many turns run."""

from dataclasses import dataclass, field

from headworks.server.flow.watch import WatchSettings

_AT_LEAST_ONE = (
    *("max_turns", "max_tenant_turns", "max_peer_turns", "max_tenants"),
    *("max_silent_calls", "max_tenant_silent_calls", "max_peer_silent_calls"),
)


@dataclass(frozen=True, slots=True)
class FlowSettings:
    """Limits on turns, in all and for one tenant or peer, so that none of them keeps the others out."""

    max_turns: int = 80
    """Turns at once; the engine's batch should hold as many."""
    max_tenant_turns: int = 64
    """Of these, turns of one tenant: a quarter more is kept for the others."""
    max_peer_turns: int = 64
    """Of these, turns from one host. Raise it to `max_turns` where a proxy forwards everybody's calls."""
    max_waiting: int = 256
    """Turns that wait for a permit. Well under 1,000, where gRPC's core starts to shed calls by itself."""
    wait_seconds: float = 5.0
    """How long a turn waits for a permit before it is told to come back."""
    max_silent_calls: int = 1024
    """Calls that have sent no input yet. They hold no permit, only some 40 KiB each; one more ends the oldest one of
    the host that has the most."""
    max_tenant_silent_calls: int = 256
    """Of these, calls of one tenant; one more ends the tenant's oldest."""
    max_peer_silent_calls: int = 512
    """Of these, calls from one host; one more ends the host's oldest. It is more than a tenant may have: behind a
    proxy all tenants share a host, and one that floods it meets its own bound first."""
    max_tenants: int = 10_000
    """Tenants with a meter or a ledger line of their own; the one seen longest ago makes room."""
    watch: WatchSettings = field(default_factory=WatchSettings)

    def __post_init__(self) -> None:
        for name in _AT_LEAST_ONE:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")
