"""Limits on how many turns run."""

from dataclasses import dataclass, field

from headworks.server.flow.fairness.settings import FairnessSettings
from headworks.server.flow.watch import WatchSettings

_AT_LEAST_ONE = (
    *("max_turns", "max_tenant_turns", "max_peer_turns", "max_tenants"),
    *("max_silent_calls", "max_tenant_silent_calls", "max_peer_silent_calls"),
)


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """How the limit on turns at once finds itself.

    Each interval it is looked at once. Under pressure it falls to a share of what runs. Without pressure it grows, if
    turns had to wait for it: fast up to where the last pressure was seen, slowly above.
    """

    least_turns: int = 4
    """It never falls below this, however slow the engine is."""
    first_turns: int = 32
    """Where it begins, and below which it does not fall because this process is late: other work may make it so."""
    interval_seconds: float = 0.1
    shrink_factor: float = 0.9
    """Of the turns that run, under pressure."""
    max_gap_seconds: float = 0.2
    """Pressure: a tenth of the gaps between tokens is longer than this, and longer than `max_stretch` allows."""
    max_first_token_seconds: float = 2.0
    """Pressure: a tenth of the first tokens comes later after the end of input than this, and than `max_stretch`
    allows."""
    max_stretch: float = 2.0
    """Times the engine's own best gap, or first token, so that a model that is slow by itself makes no pressure."""
    max_loop_lag_seconds: float = 0.015
    """Pressure: this process is so late with its own work; its CPU is used up."""
    max_engine_waiting: int = 4
    """Pressure: more turns wait inside the engine, where they can neither be ordered nor dropped."""
    max_cache_used: float = 0.95
    """Pressure on tokens: the share of the key/value cache in use; any preemption counts too."""
    cache_overcommit: float = 1.5
    """Tokens that running turns may come to, as a share of the cache, before anything is known: most answers are
    shorter than their ceiling."""

    def __post_init__(self) -> None:
        if not 1 <= self.least_turns <= self.first_turns:
            raise ValueError("least_turns must be at least 1 and at most first_turns")
        if not 0 < self.shrink_factor < 1 or self.interval_seconds <= 0 or self.max_stretch < 1:
            raise ValueError("shrink_factor must lie in (0, 1), interval_seconds above 0, max_stretch at least at 1")


@dataclass(frozen=True, slots=True)
class PaceSettings:
    """When the tokens of a stream are joined to fewer messages.

    One message a token is the rule. When this process is late with its work, each stream waits a moment after a
    message, and all tokens of that moment share the next one; while turns wait in a line that stands, it waits longest.
    """

    look_seconds: float = 0.01
    """Between two looks at how late the process is."""
    free_lag_seconds: float = 0.001
    """So late it may be without any joining."""
    gain: float = 10.0
    """Seconds that a stream waits for each second that the process is later than that."""
    max_wait_seconds: float = 0.05
    """The longest wait: twenty messages a second still read as a flow."""


@dataclass(frozen=True, slots=True)
class LineSettings:
    """The line for a permit, bounded in turns, tokens and time."""

    max_waiting: int = 256
    """Turns that wait for a permit. A tenant may have as many as there are places left, so that no tenant fills it.
    Well under 1,000, where gRPC's core starts to shed calls by itself."""
    max_waiting_tokens: int = 500_000
    """Tokens that the answers of the waiting turns may come to."""
    interactive_seconds: float = 5.0
    """How long an interactive turn may wait; one that would wait longer is told so at once."""
    standing_seconds: float = 0.1
    """The same once the line has been standing for a while: a line that never empties only makes everybody late."""
    standing_turns: int = 10
    """And never less than so many turns take to end: where places become free seldom, nobody else would be in line, and
    no order could decide among tenants."""
    standing_after_seconds: float = 1.0
    """When a line that has not been empty counts as standing."""
    batch_seconds: float = 60.0
    """The same for a batch turn."""
    max_retry_seconds: float = 30.0
    """The longest time that a refused caller is told to stay away."""


@dataclass(frozen=True, slots=True)
class ClassSettings:
    """The floors of the classes of service, as shares of the limit on turns."""

    interactive_floor: float = 0.25
    """Kept free for interactive turns: batch turns never hold more than the rest, since they may be long."""
    batch_floor: float = 0.1
    """Given to batch turns first, as long as some wait; above it interactive turns go first."""

    def __post_init__(self) -> None:
        if not (0 <= self.interactive_floor < 1 and 0 <= self.batch_floor < 1):
            raise ValueError("floors must lie in [0, 1)")
        if self.interactive_floor + self.batch_floor > 1:
            raise ValueError("the floors are more than the whole")


@dataclass(frozen=True, slots=True)
class FlowSettings:
    """Limits on turns, in all and for one tenant or peer, so that none of them keeps the others out."""

    max_turns: int = 256
    """Turns at once, however well they are served; the engine's batch should hold as many."""
    max_tenant_turns: int = 224
    """Of these, turns of one tenant."""
    max_peer_turns: int = 224
    """Of these, turns from one host. Raise it to `max_turns` where a proxy forwards everybody's calls."""
    newcomer_share: float = 0.25
    """Of the limit, on top of it: for tenants that run less than an equal share and have no turns queued, so that they
    need not wait for the turns of others to end."""
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
    limit: LimitSettings = field(default_factory=LimitSettings)
    line: LineSettings = field(default_factory=LineSettings)
    classes: ClassSettings = field(default_factory=ClassSettings)
    pace: PaceSettings = field(default_factory=PaceSettings)
    fairness: FairnessSettings = field(default_factory=FairnessSettings)
    watch: WatchSettings = field(default_factory=WatchSettings)

    def __post_init__(self) -> None:
        for name in _AT_LEAST_ONE:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")
