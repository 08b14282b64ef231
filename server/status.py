"""Which gRPC status each error is, in one place; `server/http/` has the codes of HTTP."""

from dataclasses import dataclass, field

from grpc import StatusCode

from headworks.intake.errors import BadMedia, ModelMissing, SpoolUnavailable, TooLarge
from headworks.intake.table.store import UnknownTable
from headworks.policy.errors import IssuerUnavailable, JudgeUnavailable, UnknownCaller
from headworks.server.engine.errors import EngineBroken, EngineUnavailable
from headworks.server.flow.errors import FlowError, TooLate, TooMany
from headworks.server.turn.errors import BadRequest, OutOfOrder, TurnRefused, TurnTimedOut, UnknownModel

INTERNAL_TEXT = "something went wrong here; report the turn id"
_RETRY_SOON_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Status:
    """The status that a caller gets for an error."""

    code: StatusCode
    reason: str
    """For `google.rpc.ErrorInfo`, in UPPER_SNAKE."""
    message: str
    metadata: dict[str, str] = field(default_factory=dict)
    """For `google.rpc.ErrorInfo`: the limit, the decision id."""
    retry_after_seconds: float | None = None
    """For `google.rpc.RetryInfo`; None where waiting does not help."""


_PLAIN: dict[type[Exception], tuple[StatusCode, str]] = {
    UnknownCaller: (StatusCode.UNAUTHENTICATED, "UNKNOWN_CALLER"),
    BadMedia: (StatusCode.INVALID_ARGUMENT, "BAD_MEDIA"),
    BadRequest: (StatusCode.INVALID_ARGUMENT, "BAD_REQUEST"),
    OutOfOrder: (StatusCode.INVALID_ARGUMENT, "OUT_OF_ORDER"),
    UnknownModel: (StatusCode.NOT_FOUND, "UNKNOWN_MODEL"),
    UnknownTable: (StatusCode.NOT_FOUND, "UNKNOWN_TABLE"),
    ModelMissing: (StatusCode.FAILED_PRECONDITION, "MODEL_MISSING"),
    EngineBroken: (StatusCode.ABORTED, "ENGINE_BROKEN"),
}
_RETRY: dict[type[Exception], tuple[StatusCode, str]] = {
    SpoolUnavailable: (StatusCode.UNAVAILABLE, "SPOOL_UNAVAILABLE"),
    EngineUnavailable: (StatusCode.UNAVAILABLE, "ENGINE_UNAVAILABLE"),
    IssuerUnavailable: (StatusCode.UNAVAILABLE, "ISSUER_UNAVAILABLE"),
}


def status_of(error: Exception) -> Status | None:
    """Return what the caller is told, or None for an error that nobody expected."""
    if isinstance(error, FlowError):
        return _flow_status(error)
    match error:
        case TooLarge():
            limit = {"limit": error.limit, "allowed": str(error.allowed), "seen": str(error.seen)}
            return Status(StatusCode.RESOURCE_EXHAUSTED, "TOO_LARGE", str(error), limit)
        case TurnRefused():
            verdict = error.verdict
            decision = {"decision_id": verdict.decision_id, "reasons": ",".join(verdict.reasons)}
            return Status(StatusCode.PERMISSION_DENIED, "TURN_REFUSED", str(error), decision)
        case JudgeUnavailable():
            decision = {"decision_id": error.decision_id}
            return Status(StatusCode.UNAVAILABLE, error.reason.value, str(error), decision, _RETRY_SOON_SECONDS)
        case TurnTimedOut():
            return Status(StatusCode.DEADLINE_EXCEEDED, "TURN_TIMED_OUT", str(error), {"limit": error.limit})
    for kind, (code, reason) in _PLAIN.items():
        if isinstance(error, kind):
            return Status(code, reason, str(error))
    for kind, (code, reason) in _RETRY.items():
        if isinstance(error, kind):
            wait = error.retry_after_seconds if isinstance(error, EngineUnavailable) else _RETRY_SOON_SECONDS
            return Status(code, reason, str(error), retry_after_seconds=wait)
    return None


def internal_status() -> Status:
    """Return what a caller is told of an error that nobody expected: nothing of it."""
    return Status(StatusCode.INTERNAL, "INTERNAL", INTERNAL_TEXT)


def _flow_status(error: FlowError) -> Status:
    match error:
        case TooMany():
            limit = {"limit": error.limit, "allowed": f"{error.allowed:g}"}
            return Status(StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY", str(error), limit, error.retry_after_seconds)
        case TooLate():
            limit, retry = {"limit": "deadline"}, error.retry_after_seconds
            return Status(StatusCode.RESOURCE_EXHAUSTED, "TOO_LATE", str(error), limit, retry)
        case _:
            return Status(StatusCode.UNAVAILABLE, "DRAINING", str(error), retry_after_seconds=_RETRY_SOON_SECONDS)
