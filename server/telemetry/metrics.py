"""Metrics in Prometheus' form, for /metrics."""

from collections.abc import Iterator

from prometheus_client import (
    CollectorRegistry,
    Counter,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from headworks.policy.question import Stage
from headworks.server.engine.engine import Engine
from headworks.server.flow.admission import Admission
from headworks.server.turn.record import Outcome, TurnRecord
from headworks.server.turn.steps import Judgement

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
"""Bucket borders of all histograms: from a judgement to a whole turn."""


class TurnMetrics:
    """Counts turns, tokens and verdicts, and keeps histograms of the times that callers feel."""

    def __init__(self, registry: CollectorRegistry) -> None:
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

    def judged(self, stage: Stage, judgement: Judgement, seconds: float) -> None:
        word = "allow" if judgement.verdict.allow else "refuse"
        self._verdicts.labels(stage.value, word).inc()
        self._judging.labels(stage.value).observe(seconds)

    def no_verdict(self, stage: Stage) -> None:
        self._verdicts.labels(stage.value, "none").inc()

    def turn_finished(self, record: TurnRecord) -> None:
        self._turns.labels(record.outcome.value).inc()
        self._tokens.labels("input").inc(record.usage.input_tokens)
        self._tokens.labels("output").inc(record.usage.output_tokens)
        if record.outcome is Outcome.FINISHED:
            self._first_token.observe(record.timings.first_token)
        else:
            self._errors.labels(record.error).inc()


class LoadCollector(Collector):
    """Reads the figures of the moment when they are scraped."""

    def __init__(self, admission: Admission, engine: Engine) -> None:
        self._admission = admission
        self._engine = engine

    def collect(self) -> Iterator[Metric]:
        load = self._engine.load()
        yield GaugeMetricFamily("headworks_turns_running", "Turns that hold a permit.", self._admission.held)
        yield GaugeMetricFamily("headworks_turns_waiting", "Turns in line for a permit.", self._admission.waiting)
        silent = len(self._admission.lobby)
        yield GaugeMetricFamily("headworks_calls_silent", "Calls that have sent no input yet.", silent)
        a = self._admission
        yield GaugeMetricFamily("headworks_limit", "", a.limit.turns)
        yield GaugeMetricFamily("headworks_loop_lag", "", a.pace.lag_seconds)
        yield GaugeMetricFamily("headworks_flow_wait", "", a.pace.wait_seconds)
        yield GaugeMetricFamily("headworks_flow_run", "", a._forecast.run_seconds)
        yield GaugeMetricFamily("headworks_flow_needed", "", a._forecast.needed_turns)
        yield GaugeMetricFamily("headworks_flow_refused", "", sum(a.refused.values()))
        yield GaugeMetricFamily("headworks_engine_running", "Turns in the engine's batch.", load.running)
        yield GaugeMetricFamily("headworks_engine_waiting", "Turns waiting in the engine.", load.waiting)
        yield GaugeMetricFamily("headworks_engine_cache_used", "Share of the key/value cache.", load.cache_used)


def process_registry() -> CollectorRegistry:
    """Make a registry that already holds the process's own figures."""
    registry = CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    return registry
