"""Spans in OpenTelemetry's form, and the trace context that passes through a turn."""

from collections.abc import Mapping

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from headworks.server.telemetry.settings import TelemetrySettings
from headworks.server.turn.record import TurnRecord

_BATCH_SPANS = 512
"""In one export; OpenTelemetry's own default, which refuses a shorter queue."""


class TurnTraces:
    """Makes one span per turn, under the caller's own when it sent a trace context."""

    def __init__(self, settings: TelemetrySettings) -> None:
        self._provider = _provider(settings)
        self._tracer = self._provider.get_tracer("headworks") if self._provider else trace.NoOpTracer()
        self._propagator = TraceContextTextMapPropagator()
        self._spans: dict[str, Span] = {}

    def turn_started(self, record: TurnRecord) -> Mapping[str, str]:
        """Begin the turn's span; return the headers that name it, for the engine."""
        context = self._propagator.extract(record.trace_headers)
        span = self._tracer.start_span("turn", context, kind=trace.SpanKind.SERVER)
        span.set_attributes({"gen_ai.request.model": record.model, "headworks.turn.id": record.turn_id})
        self._spans[record.turn_id] = span
        headers: dict[str, str] = {}
        self._propagator.inject(headers, trace.set_span_in_context(span, context))
        return headers

    def turn_finished(self, record: TurnRecord) -> None:
        """End the turn's span. What happened in it are counts and durations of the whole, never a span for a token."""
        span = self._spans.pop(record.turn_id, None)
        if span is None:
            return
        if span.is_recording():
            span.set_attributes(_attributes(record))
        if record.error:
            span.set_attribute("error.type", record.error)
            span.set_status(Status(StatusCode.ERROR, record.outcome.value))
        span.end()

    def close(self) -> None:
        """Export the spans that wait."""
        if self._provider is not None:
            self._provider.shutdown()


def _attributes(record: TurnRecord) -> dict[str, str | int | float]:
    timings = record.timings
    facts: dict[str, str | int | float] = {
        "gen_ai.usage.input_tokens": record.input_tokens,
        "gen_ai.usage.output_tokens": record.output_tokens,
        "headworks.turn.outcome": record.outcome.value,
        "headworks.turn.policy_seconds": timings.policy,
    }
    if record.has_waited:
        facts["headworks.turn.queue_seconds"] = timings.queue
    if record.service_class:
        facts["headworks.turn.service_class"] = record.service_class
    if record.limit:
        facts["headworks.turn.limit"] = record.limit
    if record.output_tokens:
        facts["headworks.turn.first_token_seconds"] = timings.first_token
        facts["headworks.turn.longest_gap_seconds"] = record.longest_gap_seconds
        facts["headworks.turn.messages"] = record.messages
    return facts


def _provider(settings: TelemetrySettings) -> TracerProvider | None:
    if not settings.traces_endpoint:
        return None
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    provider = TracerProvider(resource=Resource.create({"service.name": settings.service_name}))
    is_clear = settings.traces_endpoint.lower().startswith("http://")  # said here, no variable changes it
    exporter = OTLPSpanExporter(settings.traces_endpoint, insecure=is_clear, timeout=settings.export_seconds)
    queue, batch = settings.max_queued_spans, min(settings.max_queued_spans, _BATCH_SPANS)
    provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=queue, max_export_batch_size=batch))
    return provider
