"""What admission shows of itself to whoever watches the process."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FlowFigures:
    """The figures of one moment. What an admission does not have keeps its default."""

    held: int = 0
    """Turns that hold a permit."""
    limit: int = 0
    """Turns that may hold one at this moment."""
    token_limit: int = 0
    """Tokens that their prompts and answers may come to; 0 where there is no such limit."""
    outstanding_tokens: int = 0
    """Tokens that they come to, with answers at their ceilings."""
    limited_by: str = ""
    """Why the limit shrank last; empty since it grew again."""
    waiting_by_class: Mapping[str, int] = field(default_factory=dict)
    """Turns in line for a permit."""
    waiting_tokens: int = 0
    """Tokens that the answers of those may come to."""
    silent: int = 0
    """Calls that have sent no input yet."""
    admitted_by_class: Mapping[str, int] = field(default_factory=dict)
    """Turns that were given a permit, since the start."""
    refused_by_reason: Mapping[str, int] = field(default_factory=dict)
    """Turns that were refused, since the start, by the limit that was met, as errors name it: "deadline", too."""
    counters_by_tenant: Mapping[str, float] = field(default_factory=dict)
    """The virtual token counters of the tenants that have one."""
    loop_lag_seconds: float = 0.0
    """How late the event loop is, smoothed."""
    message_wait_seconds: float = 0.0
    """How long a stream waits between two messages, so that tokens share one."""
