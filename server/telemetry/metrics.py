"""Metrics of turns in Prometheus' form, for /metrics."""

from functools import cache

from prometheus_client import (
    CollectorRegistry,
    Counter,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)

from headworks.policy.question import Stage
from headworks.server.telemetry.genai import GenAiMetrics
from headworks.server.telemetry.labels import LabelCap
from headworks.server.telemetry.settings import TelemetrySettings
from headworks.server.turn.record import Outcome, TurnRecord
from headworks.server.turn.steps import Judgement

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
"""Bucket borders of all histograms of our own: from a judgement to a whole turn."""


class TurnMetrics:
    """Counts turns, tokens and verdicts, and keeps histograms of the times that callers feel.

    A series is looked up by its labels once; looking it up for each turn cost more than counting.
    """

    def __init__(self, registry: CollectorRegistry, settings: TelemetrySettings) -> None:
        self._gen_ai = GenAiMetrics(registry)
        turns = Counter("headworks_turns", "Turns by how they ended.", ["outcome"], registry=registry)
        self._turns = {outcome: turns.labels(outcome.value) for outcome in Outcome}
        errors = Counter("headworks_turn_errors", "Unfinished turns by error.", ["error"], registry=registry)
        limits = Counter("headworks_limits_met", "Turns that a limit ended.", ["limit"], registry=registry)
        # The labels of these come from classes and settings, so there are only so many.
        self._error, self._limit = cache(errors.labels), cache(limits.labels)
        self._verdicts, self._judging = _verdicts(registry), _judging(registry)
        tokens = Counter("headworks_tokens", "Tokens booked.", ["direction"], registry=registry)
        self._input, self._output = tokens.labels("input"), tokens.labels("output")
        self._messages = Counter("headworks_messages", "Messages with tokens of answers.", registry=registry)
        self._first_token = _seconds("first_token_seconds", "From the end of input to the first token.", registry)
        self._longest_gap = _seconds("longest_gap_seconds", "Longest gap between tokens of an answer.", registry)
        queue = Histogram(
            "headworks_queue_seconds", "Wait for a permit.", ["class"], buckets=_SECONDS, registry=registry
        )
        self._queue = cache(queue.labels)
        by_tenant = ["tenant", "direction"]
        tenants = Counter("headworks_tenant_tokens", "Tokens booked by tenant.", by_tenant, registry=registry)
        self._tenant, self._cap = cache(tenants.labels), LabelCap(settings.max_tenants_shown)

    def judged(self, stage: Stage, judgement: Judgement, seconds: float) -> None:
        self._verdicts[stage, "allow" if judgement.verdict.allow else "refuse"].inc()
        self._judging[stage].observe(seconds)

    def no_verdict(self, stage: Stage) -> None:
        self._verdicts[stage, "none"].inc()

    def turn_finished(self, record: TurnRecord) -> None:
        timings = record.timings
        self._turns[record.outcome].inc()
        if record.has_waited:
            self._queue(record.service_class).observe(timings.queue)
        if record.outcome is Outcome.FINISHED:
            self._first_token.observe(timings.first_token)
            if record.output_tokens > 1:
                self._longest_gap.observe(record.longest_gap_seconds)
        else:
            self._error(record.error).inc()
            if record.limit:
                self._limit(record.limit).inc()
        self._book(record)
        self._gen_ai.turn_finished(record, timings)

    def _book(self, record: TurnRecord) -> None:
        """Count tokens however the turn ended: they were spent."""
        if not record.input_tokens and not record.output_tokens:
            return
        self._messages.inc(record.messages)
        tenant = self._cap.label(record.tenant)
        for total, direction, tokens in (
            (self._input, "input", record.input_tokens),
            (self._output, "output", record.output_tokens),
        ):
            total.inc(tokens)
            self._tenant(tenant, direction).inc(tokens)


def process_registry() -> CollectorRegistry:
    """Make a registry that already holds the process's own figures."""
    registry = CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    return registry


def _seconds(name: str, help_text: str, registry: CollectorRegistry) -> Histogram:
    return Histogram(f"headworks_{name}", help_text, buckets=_SECONDS, registry=registry)


def _verdicts(registry: CollectorRegistry) -> dict[tuple[Stage, str], Counter]:
    verdicts = Counter("headworks_verdicts", "Verdicts.", ["stage", "verdict"], registry=registry)
    words = ("allow", "refuse", "none")
    return {(stage, word): verdicts.labels(stage.value, word) for stage in Stage for word in words}


def _judging(registry: CollectorRegistry) -> dict[Stage, Histogram]:
    judging = Histogram(
        "headworks_policy_seconds", "Time of one judgement.", ["stage"], buckets=_SECONDS, registry=registry
    )
    return {stage: judging.labels(stage.value) for stage in Stage}
