"""Where facts go besides /metrics and the log."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class TelemetrySettings:
    """Where facts go besides /metrics and the log."""

    traces_endpoint: str = ""
    """OTLP over gRPC ("http://localhost:4317"); empty: no spans are made, and callers' trace context passes through."""
    service_name: str = "headworks"
    max_queued_spans: int = 2048
    """Spans that wait to be exported; more are dropped."""
    export_seconds: float = 5.0
    """One export with its retries; the end of the process waits so long for a collector that is away."""

    def __post_init__(self) -> None:
        if self.max_queued_spans < 1 or self.export_seconds <= 0:
            raise ValueError("max_queued_spans and export_seconds must be positive")


class LogLevel(StrEnum):
    """The least that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
