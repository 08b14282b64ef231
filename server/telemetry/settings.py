"""Where facts go besides /metrics and the log."""

import re
from dataclasses import dataclass
from enum import StrEnum

_ENDPOINT = re.compile(r"https?://(\[[\da-f:.]+\]|[^\s/?#@:\[\]]+):\d{1,5}/?", re.IGNORECASE)
"""gRPC takes a host and a port; it would ignore a path, and guess a port where none is named."""


@dataclass(frozen=True, slots=True)
class TelemetrySettings:
    """Where facts go besides /metrics and the log."""

    traces_endpoint: str = ""
    """OTLP over gRPC: "http://localhost:4317" without TLS, "https://collector.example:4317" with it. Without a scheme
    OpenTelemetry would try TLS and lose every span, so that is refused. Empty: no spans are made, and callers' trace
    context passes through."""
    service_name: str = "headworks"
    max_queued_spans: int = 2048
    """Spans that wait to be exported; more are dropped."""
    export_seconds: float = 5.0
    """One export with its retries; the end of the process waits so long for a collector that is away."""

    max_tenants_shown: int = 50
    """Tenants with time series of their own on /metrics; all others are "other" together."""

    def __post_init__(self) -> None:
        if self.max_queued_spans < 1 or self.export_seconds <= 0:
            raise ValueError("max_queued_spans and export_seconds must be positive")
        if self.max_tenants_shown < 0:
            raise ValueError("max_tenants_shown must not be negative")
        require_scheme(self.traces_endpoint)
        if self.traces_endpoint and not _ENDPOINT.fullmatch(self.traces_endpoint):
            raise ValueError("traces_endpoint is http or https, a host and a port; for example http://localhost:4317")


class LogLevel(StrEnum):
    """The least that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def require_scheme(endpoint: str) -> None:
    """Hold an OTLP endpoint to a scheme, which says whether TLS is meant.

    Raises:
        ValueError: it has none.
    """
    if endpoint and "://" not in endpoint:
        raise ValueError(
            f"traces_endpoint {endpoint} does not say whether TLS is meant; write http://{endpoint} for a collector "
            f"without it, https://{endpoint} for one with it"
        )
