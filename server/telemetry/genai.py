"""Metrics under the names that the field has agreed on.

Source: OpenTelemetry semantic conventions for generative AI metrics 1.41, with their bucket borders; dots are
underscores in Prometheus, and the unit stands at the end.
"""

from functools import cache

from prometheus_client import CollectorRegistry, Histogram

from headworks.server.turn.record import Outcome, TurnRecord
from headworks.server.turn.steps import Timings

OPERATION, PROVIDER = "chat", "headworks"
_LABELS = ("gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model")
_TURN_SECONDS = tuple(0.01 * 2**power for power in range(14))
_FIRST_TOKEN_SECONDS = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
_TOKEN_SECONDS = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5)
_TOKENS = tuple(4**power for power in range(14))


class GenAiMetrics:
    """Histograms by model; the models are those that are served."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def histogram(name: str, help_text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
            return Histogram(name, help_text, (*_LABELS, *labels), buckets=buckets, registry=registry)

        request = histogram(
            "gen_ai_server_request_duration_seconds", "From the call to its end.", _TURN_SECONDS, "error_type"
        )
        first = histogram(
            "gen_ai_server_time_to_first_token_seconds",
            "From the end of input to the first token, of turns that finished.",
            _FIRST_TOKEN_SECONDS,
        )
        later = histogram(
            "gen_ai_server_time_per_output_token_seconds",
            "Time of a token after the first one, of turns that finished.",
            _TOKEN_SECONDS,
        )
        usage = histogram("gen_ai_client_token_usage", "Tokens of one turn.", _TOKENS, "gen_ai_token_type")
        self._request = cache(lambda model, error: request.labels(OPERATION, PROVIDER, model, error))
        self._first_token = cache(lambda model: first.labels(OPERATION, PROVIDER, model))
        self._token = cache(lambda model: later.labels(OPERATION, PROVIDER, model))
        self._usage = cache(lambda model, kind: usage.labels(OPERATION, PROVIDER, model, kind))

    def turn_finished(self, record: TurnRecord, timings: Timings) -> None:
        model = record.model
        self._request(model, record.error).observe(record.seconds)
        if record.input_tokens:
            self._usage(model, "input").observe(record.input_tokens)
        if record.output_tokens:
            self._usage(model, "output").observe(record.output_tokens)
        if record.outcome is Outcome.FINISHED:
            self._first_token(model).observe(timings.first_token)
            if record.output_tokens > 1:
                self._token(model).observe(timings.generation / (record.output_tokens - 1))
