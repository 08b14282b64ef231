"""What became of one call. Each call ends in exactly one state."""

from dataclasses import dataclass
from enum import StrEnum

import grpc
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from headworks.server.client.contract import DETAILS_KEY

_SHED = {grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}
"""Statuses by which a server refuses. CANCELLED is how gRPC's core sheds calls by itself."""
_LATE_SHARE = 0.95
"""A server that sees the deadline pass first resets the stream, which reaches a busy client as CANCELLED."""


class State(StrEnum):
    """How a call ended."""

    FINISHED = "finished"
    """The whole answer came before the deadline."""
    REFUSED = "refused"
    """The server shed it before its first token."""
    LATE = "late"
    """The deadline passed first."""
    FAILED = "failed"
    LEFT = "left"
    """The client was told to stop and hung up."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One call."""

    state: State
    kind: str
    """The status and its reason; empty where it finished or was left."""
    began: float
    ended: float
    first: float | None
    """Seconds from the call to the first token; None where none came."""
    tokens: int
    retry_seconds: float | None = None
    """How long the server asked to be left alone."""

    @property
    def seconds(self) -> float:
        return self.ended - self.began


def outcome_of(error: grpc.aio.AioRpcError, seconds: float, deadline_seconds: float, tokens: int) -> tuple[State, str]:
    """Return how a call ended that ended with an error, and its kind."""
    code = error.code()
    place = " mid-stream" if tokens else ""
    is_late = code is grpc.StatusCode.CANCELLED and seconds >= _LATE_SHARE * deadline_seconds
    if code is grpc.StatusCode.DEADLINE_EXCEEDED or is_late:
        return State.LATE, f"deadline{place or ' before the first token'}"
    state = State.REFUSED if code in _SHED and not tokens else State.FAILED
    return state, f"{code.name} {_reason(error)}".rstrip() + place


def retry_seconds(error: grpc.aio.AioRpcError) -> float | None:
    """Return what RetryInfo says; None without one."""
    info = RetryInfo()
    for detail in _details(error):
        if detail.Unpack(info):
            return info.retry_delay.seconds + info.retry_delay.nanos / 1e9
    return None


def _reason(error: grpc.aio.AioRpcError) -> str:
    info = ErrorInfo()
    for detail in _details(error):
        if detail.Unpack(info):
            return info.reason
    return (error.details() or "")[:40]


def _details(error: grpc.aio.AioRpcError) -> list:
    packed = dict(error.trailing_metadata() or ()).get(DETAILS_KEY)
    return list(Status.FromString(packed).details) if isinstance(packed, bytes) else []
