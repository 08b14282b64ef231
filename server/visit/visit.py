"""Who calls, and over what."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from headworks.policy.identity.caller import Caller


@dataclass(frozen=True, slots=True)
class Visit:
    """Who opened the turn, and over what."""

    caller: Caller
    is_encrypted: bool
    is_loopback: bool
    trace_headers: Mapping[str, str] = field(default_factory=dict)
    """W3C trace context that the caller sent; empty when none."""
    peer: str = ""
    """The host at the other end of the connection, without its port; "" when the transport names none."""
