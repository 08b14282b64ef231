"""Log events: fixed dotted names, then facts as key=value."""

import logging

from headworks.policy.question import Stage
from headworks.server.turn.record import TurnRecord
from headworks.server.turn.steps import Judgement, Timings

_log = logging.getLogger("headworks.turn")


class TurnLog:
    """Writes one line for each fact of a turn that an operator reads."""

    def turn_started(self, record: TurnRecord) -> None:
        _log.info("turn.started", extra={"turn_id": record.turn_id, "tenant": record.tenant})

    def judged(self, record: TurnRecord, stage: Stage, judgement: Judgement) -> None:
        """Write refusals only; an allow shows in the metrics."""
        verdict = judgement.verdict
        if not verdict.allow:
            facts = {"decision_id": verdict.decision_id, "reasons": verdict.reasons, "trust": judgement.trust.score}
            _log.info("policy.refused", extra={"turn_id": record.turn_id, "stage": stage.value, **facts})

    def no_verdict(self, record: TurnRecord, stage: Stage, reason: str, decision_id: str) -> None:
        facts = {"turn_id": record.turn_id, "stage": stage.value, "reason": reason, "decision_id": decision_id}
        _log.warning("policy.no_verdict", extra=facts)

    def turn_finished(self, record: TurnRecord) -> None:
        facts: dict[str, object] = {
            "turn_id": record.turn_id,
            "tenant": record.tenant,
            "outcome": record.outcome.value,
            "error": record.error,
            "modalities": record.modalities,
            "input_tokens": record.usage.input_tokens,
            "output_tokens": record.usage.output_tokens,
            **_milliseconds(record.timings),
        }
        if record.refusal is not None:
            facts |= {"decision_id": record.refusal.decision_id, "reasons": record.refusal.reasons}
        _log.info("turn.finished", extra=facts)


def _milliseconds(timings: Timings) -> dict[str, float]:
    steps = ("accept", "queue", "policy", "first_token", "generation")
    return {f"{step}_milliseconds": round(getattr(timings, step) * 1000, 1) for step in steps}


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
