"""The settings of the judges."""

from dataclasses import dataclass, field
from pathlib import Path

from headworks.policy.bundles.sources import DEFAULT_FOLDER, SourceLimits


@dataclass(frozen=True, slots=True)
class RegorusSettings:
    """The settings of the judge in this process, and of the policy that is served to OPA agents."""

    folder: Path = DEFAULT_FOLDER
    """The folder of Rego and data; the policy that ships with the gateway unless the operator names their own."""
    rule: str = "data.headworks.turn.decision"
    """The rule that answers; an operator's own policy must have it too."""
    limits: SourceLimits = field(default_factory=SourceLimits)
    max_question_bytes: int = 65536
    """Bytes of one question: sixteen times the largest seen, so a longer one holds what policy must not see."""
    max_answer_bytes: int = 65536
    """Characters of one answer as JSON; with three keys and a few reasons it takes some hundreds."""
    max_remembered: int = 10_000
    """Verdicts that are remembered, some kilobytes each: one holds for all questions that are equal in what the policy
    reads. 0 asks each time."""
    max_decision_milliseconds: float = 5.0
    """At start, the fastest of five decisions must take no longer, because an evaluation blocks the event loop. The
    default policy takes about 0.2 ms."""

    def __post_init__(self) -> None:
        if self.max_remembered < 0:
            raise ValueError("max_remembered must be at least 0")


@dataclass(frozen=True, slots=True)
class OpaSettings:
    """The settings of the judge that asks an OPA server."""

    host: str = "127.0.0.1"
    port: int = 8181
    """OPA's own default."""
    is_tls: bool = False
    """Whether the server is asked over TLS; on another machine it should be."""
    ca_file: Path | None = None
    """Authorities that the server's certificate is checked against, as PEM; those of the system when None."""
    certificate_file: Path | None = None
    """The gateway's own certificate as PEM, where the server wants one."""
    certificate_key_file: Path | None = None
    token: str = field(default="", repr=False)
    """Bearer token; none is sent when it is empty."""
    package: str = "headworks.turn"
    rule: str = "decision"
    timeout_seconds: float = 0.5
    """One question, from asking to the whole answer. A decision takes about a millisecond, and a turn waits for two or
    more of them."""
    warm_timeout_seconds: float = 10.0
    """At start, the wait until the server is healthy with its bundles active."""
    poll_seconds: float = 0.2
    """At start, the pause between two looks at the server's health. The gateway starts at most so much later."""
    max_connections: int = 32
    """Questions on the way at once; more of them wait within their time limit. At two milliseconds each, 32 connections
    carry 16,000 questions a second."""
    idle_connection_seconds: float = 60.0
    """An idle connection is kept this long, so that a quiet minute does not cost a new TLS handshake."""
    max_question_bytes: int = 65536
    """Bytes of one question, as for regorus."""
    max_answer_bytes: int = 65536
    """Bytes of one answer; it has three keys, and the provenance beside it is small."""
