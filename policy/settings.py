"""The settings of the judges."""

from dataclasses import dataclass, field
from pathlib import Path

from headworks.policy.bundles.sources import DEFAULT_FOLDER, SourceLimits


@dataclass(frozen=True, slots=True)
class RegorusSettings:
    """Which policy, and its bounds."""

    folder: Path = DEFAULT_FOLDER
    """Rego and data; the default policy when not the operator's own."""
    rule: str = "data.headworks.turn.decision"
    """The rule that answers; an operator's policy has the same one."""
    limits: SourceLimits = field(default_factory=SourceLimits)
    max_question_bytes: int = 65536
    """Sixteen times the largest question seen; a longer one holds what policy must not see."""
    max_answer_bytes: int = 65536
    """Characters of JSON; an answer has three keys."""
    max_decision_milliseconds: float = 5.0
    """At start, the fastest of five tries must be under this, because an evaluation blocks the event loop."""


@dataclass(frozen=True, slots=True)
class OpaSettings:
    """Where the server is, and how long it is waited for."""

    host: str = "127.0.0.1"
    port: int = 8181
    """OPA's own default."""
    is_tls: bool = False
    ca_file: Path | None = None
    """PEM; the system's authorities when None."""
    certificate_file: Path | None = None
    """PEM of this client, where the server wants one."""
    certificate_key_file: Path | None = None
    token: str = field(default="", repr=False)
    """Bearer token; none is sent when empty."""
    package: str = "headworks.turn"
    rule: str = "decision"
    timeout_seconds: float = 0.5
    """One question, all of it: a decision takes about a millisecond, and a turn waits for two."""
    warm_timeout_seconds: float = 10.0
    """At start, for the server to be healthy with its bundles active."""
    poll_seconds: float = 0.2
    """Between two looks at its health."""
    max_connections: int = 32
    """Questions on the way at once; more of them wait within their time limit."""
    idle_connection_seconds: float = 60.0
    """An idle connection is kept this long, so that a quiet minute does not cost a new TLS handshake."""
    max_question_bytes: int = 65536
    """As for regorus."""
    max_answer_bytes: int = 65536
    """An answer has three keys, and the provenance beside it is small."""
