"""The turn's observer: it hands every fact to each sink. The sinks choose the words; none of them holds content."""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry

from headworks.policy.question import Stage
from headworks.server.telemetry.log import TurnLog
from headworks.server.telemetry.metrics import TurnMetrics
from headworks.server.telemetry.settings import TelemetrySettings
from headworks.server.telemetry.traces import TurnTraces
from headworks.server.turn.record import TurnRecord
from headworks.server.turn.steps import Judgement


class Telemetry:
    """A `TurnObserver` that feeds the log, Prometheus and OpenTelemetry."""

    def __init__(self, settings: TelemetrySettings, registry: CollectorRegistry) -> None:
        self._log = TurnLog()
        self._metrics = TurnMetrics(registry, settings)
        self._traces = TurnTraces(settings)

    def turn_started(self, record: TurnRecord) -> Mapping[str, str]:
        self._log.turn_started(record)
        return self._traces.turn_started(record)

    def judged(self, record: TurnRecord, stage: Stage, judgement: Judgement, seconds: float) -> None:
        self._log.judged(record, stage, judgement)
        self._metrics.judged(stage, judgement, seconds)

    def no_verdict(self, record: TurnRecord, stage: Stage, reason: str, decision_id: str) -> None:
        self._log.no_verdict(record, stage, reason, decision_id)
        self._metrics.no_verdict(stage)

    def turn_finished(self, record: TurnRecord) -> None:
        self._metrics.turn_finished(record)
        self._traces.turn_finished(record)
        self._log.turn_finished(record)

    def close(self) -> None:
        """Export the spans that wait."""
        self._traces.close()
