"""Log events: fixed dotted names, then facts as key=value."""

import logging

from headworks.policy.question import Stage
from headworks.server.flow.watch import Alarm
from headworks.server.turn.record import TurnRecord
from headworks.server.turn.steps import Judgement, Timings

_log = logging.getLogger("headworks.turn")
_flow_log = logging.getLogger("headworks.flow")


class TurnLog:
    """Writes one line for each fact of a turn that an operator reads."""

    def turn_started(self, record: TurnRecord) -> None:
        """Write it for who looks closely; the line at the turn's end says when it began and all else."""
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("turn.started", extra={"turn_id": record.turn_id, "tenant": record.tenant})

    def judged(self, record: TurnRecord, stage: Stage, judgement: Judgement) -> None:
        """Write refusals only; an allow shows in the metrics."""
        verdict = judgement.verdict
        if not verdict.allow and _log.isEnabledFor(logging.INFO):
            facts = {"decision_id": verdict.decision_id, "reasons": verdict.reasons, "trust": judgement.trust.score}
            _log.info("policy.refused", extra={"turn_id": record.turn_id, "stage": stage.value, **facts})

    def no_verdict(self, record: TurnRecord, stage: Stage, reason: str, decision_id: str) -> None:
        facts = {"turn_id": record.turn_id, "stage": stage.value, "reason": reason, "decision_id": decision_id}
        _log.warning("policy.no_verdict", extra=facts)

    def turn_finished(self, record: TurnRecord) -> None:
        if not _log.isEnabledFor(logging.INFO):
            return
        facts: dict[str, object] = {
            "turn_id": record.turn_id,
            "tenant": record.tenant,
            "outcome": record.outcome.value,
            "error": record.error,
            "limit": record.limit,
            "modalities": record.modalities,
            "input_tokens": record.input_tokens,
            "output_tokens": record.output_tokens,
            **_milliseconds(record.timings, record.seconds),
        }
        if record.refusal is not None:
            facts |= {"decision_id": record.refusal.decision_id, "reasons": record.refusal.reasons}
        _log.info("turn.finished", extra=facts)


class FlowLog:
    """Writes a line when a signal leaves its usual range, and one when it is back; an `AlarmObserver`."""

    def alarmed(self, alarm: Alarm) -> None:
        _flow_log.warning("flow.alarmed", extra={"signal": alarm.signal.value, "strength": round(alarm.strength, 1)})

    def calmed(self, alarm: Alarm, seconds: float) -> None:
        facts = {"signal": alarm.signal.value, "strength": round(alarm.strength, 1), "seconds": round(seconds, 1)}
        _flow_log.info("flow.calmed", extra=facts)


def _milliseconds(timings: Timings, whole_seconds: float) -> dict[str, float]:
    seconds = {
        "whole": whole_seconds,
        "accept": timings.accept,
        "queue": timings.queue,
        "policy": timings.policy,
        "first_token": timings.first_token,
        "generation": timings.generation,
    }
    return {f"{step}_milliseconds": round(value * 1000, 1) for step, value in seconds.items()}


class EventFormatter(logging.Formatter):
    """Formats an event as one line: time, level, the event's name, then its facts as key=value."""

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
