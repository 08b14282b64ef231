"""Chooses the words: metrics, spans and log events, from the facts that turns report. No content in any of them."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from headworks.policy.question import Stage
from headworks.server.engine.engine import Engine
from headworks.server.flow.admission import Permits
from headworks.server.turn.record import Outcome, TurnRecord
from headworks.server.turn.steps import Judgement

_log = logging.getLogger("headworks.turn")
_BATCH_SPANS = 512
"""In one export; OpenTelemetry's own default, which refuses a shorter queue."""
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


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


class Telemetry:
    """A `TurnObserver` that feeds Prometheus, OpenTelemetry and the log."""

    def __init__(self, settings: TelemetrySettings, registry: CollectorRegistry) -> None:
        self._provider = _provider(settings)
        self._tracer = self._provider.get_tracer("headworks") if self._provider else trace.NoOpTracer()
        self._propagator = TraceContextTextMapPropagator()
        self._spans: dict[str, Span] = {}
        self._turns = Counter("headworks_turns", "Turns by how they ended.", ["outcome"], registry=registry)
        self._errors = Counter("headworks_turn_errors", "Unfinished turns by error.", ["error"], registry=registry)
        self._tokens = Counter("headworks_tokens", "Tokens booked.", ["direction"], registry=registry)
        self._verdicts = Counter("headworks_verdicts", "Verdicts.", ["stage", "verdict"], registry=registry)
        self._judging = Histogram(
            "headworks_policy_seconds", "Time of one judgement.", ["stage"], buckets=_SECONDS, registry=registry
        )
        self._first_token = Histogram(
            "headworks_first_token_seconds",
            "From the end of input to the first token.",
            buckets=_SECONDS,
            registry=registry,
        )

    def turn_started(self, record: TurnRecord) -> Mapping[str, str]:
        context = self._propagator.extract(record.trace_headers)
        span = self._tracer.start_span("turn", context, kind=trace.SpanKind.SERVER)
        span.set_attributes({"gen_ai.request.model": record.model, "headworks.turn.id": record.turn_id})
        self._spans[record.turn_id] = span
        _log.info("turn.started", extra={"turn_id": record.turn_id, "tenant": record.tenant})
        headers: dict[str, str] = {}
        self._propagator.inject(headers, trace.set_span_in_context(span, context))
        return headers

    def judged(self, record: TurnRecord, stage: Stage, judgement: Judgement, seconds: float) -> None:
        verdict = judgement.verdict
        word = "allow" if verdict.allow else "refuse"
        self._verdicts.labels(stage.value, word).inc()
        self._judging.labels(stage.value).observe(seconds)
        if not verdict.allow:
            facts = {"decision_id": verdict.decision_id, "reasons": verdict.reasons, "trust": judgement.trust.score}
            _log.info("policy.refused", extra={"turn_id": record.turn_id, "stage": stage.value, **facts})

    def no_verdict(self, record: TurnRecord, stage: Stage, reason: str, decision_id: str) -> None:
        self._verdicts.labels(stage.value, "none").inc()
        facts = {"turn_id": record.turn_id, "stage": stage.value, "reason": reason, "decision_id": decision_id}
        _log.warning("policy.no_verdict", extra=facts)

    def turn_finished(self, record: TurnRecord) -> None:
        usage = record.usage
        self._turns.labels(record.outcome.value).inc()
        self._tokens.labels("input").inc(usage.input_tokens)
        self._tokens.labels("output").inc(usage.output_tokens)
        if record.outcome is Outcome.FINISHED:
            self._first_token.observe(record.timings.first_token)
        else:
            self._errors.labels(record.error).inc()
        self._end_span(record)
        facts = {
            "turn_id": record.turn_id,
            "tenant": record.tenant,
            "outcome": record.outcome.value,
            "error": record.error,
            "modalities": record.modalities,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
        }
        _log.info("turn.finished", extra=facts)

    def close(self) -> None:
        """Export what waits."""
        if self._provider is not None:
            self._provider.shutdown()

    def _end_span(self, record: TurnRecord) -> None:
        span = self._spans.pop(record.turn_id, None)
        if span is None:
            return
        span.set_attribute("gen_ai.usage.input_tokens", record.usage.input_tokens)
        span.set_attribute("gen_ai.usage.output_tokens", record.usage.output_tokens)
        span.set_attribute("headworks.turn.outcome", record.outcome.value)
        if record.error:
            span.set_attribute("error.type", record.error)
            span.set_status(Status(StatusCode.ERROR, record.outcome.value))
        span.end()


class LoadCollector(Collector):
    """Figures of the moment, read when they are scraped."""

    def __init__(self, permits: Permits, engine: Engine) -> None:
        self._permits = permits
        self._engine = engine

    def collect(self) -> Iterator[Metric]:
        load = self._engine.load()
        yield GaugeMetricFamily("headworks_turns_running", "Turns that hold a permit.", self._permits.held)
        yield GaugeMetricFamily("headworks_turns_waiting", "Turns in line for a permit.", self._permits.waiting)
        yield GaugeMetricFamily("headworks_engine_running", "Turns in the engine's batch.", load.running)
        yield GaugeMetricFamily("headworks_engine_waiting", "Turns waiting in the engine.", load.waiting)
        yield GaugeMetricFamily("headworks_engine_cache_used", "Share of the key/value cache.", load.cache_used)


class EventFormatter(logging.Formatter):
    """One line an event: time, level, the event's name, then its facts as key=value."""

    _PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}

    def format(self, record: logging.LogRecord) -> str:
        facts = " ".join(f"{key}={value}" for key, value in vars(record).items() if key not in self._PLAIN)
        return f"{self.formatTime(record)} {record.levelname.lower()} {record.getMessage()} {facts}".rstrip()


def log_events(level: str) -> None:
    """Send our own events to standard error.

    Args:
        level: "debug", "info", "warning" or "error".
    """
    handler = logging.StreamHandler()
    handler.setFormatter(EventFormatter())
    logger = logging.getLogger("headworks")
    logger.handlers = [handler]
    logger.setLevel(level.upper())
    logger.propagate = False


def _provider(settings: TelemetrySettings) -> TracerProvider | None:
    if not settings.traces_endpoint:
        return None
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    provider = TracerProvider(resource=Resource.create({"service.name": settings.service_name}))
    exporter = OTLPSpanExporter(endpoint=settings.traces_endpoint, timeout=settings.export_seconds)
    queue, batch = settings.max_queued_spans, min(settings.max_queued_spans, _BATCH_SPANS)
    provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=queue, max_export_batch_size=batch))
    return provider
