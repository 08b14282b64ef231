"""The overload benchmark: its figures by hand, and a tiny run."""

import grpc
import pytest
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from bench.load.client import Report
from bench.load.outcome import Outcome, State, outcome_of, retry_seconds
from bench.load.recovery import Recovery
from bench.load.step import Seen, lost_calls
from headworks.server.client.contract import DETAILS_KEY
from tests.bench.programs import output_of

DEADLINE_SECONDS = 3.0


def column(printed: str, name: str) -> list[str]:
    """Return the cells of the curves' tables under one heading."""
    lines = printed.splitlines()
    heads = next(line for line in lines if f" {name} " in line).strip("┃").split("┃")
    at = [head.strip() for head in heads].index(name)
    rows = [line.strip("│").split("│") for line in lines if line.startswith("│")]
    return [row[at].strip() for row in rows if len(row) == len(heads)]


def error(code: grpc.StatusCode, *details: ErrorInfo | RetryInfo) -> grpc.aio.AioRpcError:
    message = Status(code=code.value[0])
    for detail in details:
        packed = AnyMessage()
        packed.Pack(detail)
        message.details.append(packed)
    trailing = grpc.aio.Metadata((DETAILS_KEY, message.SerializeToString()))
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailing, details="it said so")


def test_a_refusal_is_named_by_its_reason_and_says_how_long_to_wait() -> None:
    """A caller that does not wait as it is told comes back as one wave with all others (google/aip-193)."""
    refusal = error(
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        ErrorInfo(reason="TOO_MANY"),
        RetryInfo(retry_delay=Duration(seconds=1, nanos=500_000_000)),
    )
    assert outcome_of(refusal, 0.01, DEADLINE_SECONDS, 0) == (State.REFUSED, "RESOURCE_EXHAUSTED TOO_MANY")
    assert retry_seconds(refusal) == 1.5


def test_a_refusal_after_the_first_token_is_a_failure() -> None:
    """Work was done for it, and the caller saw a part of an answer."""
    assert outcome_of(error(grpc.StatusCode.UNAVAILABLE), 0.1, DEADLINE_SECONDS, 3)[0] is State.FAILED


@pytest.mark.parametrize(
    ("code", "seconds", "state"),
    [
        (grpc.StatusCode.DEADLINE_EXCEEDED, 3.0, State.LATE),
        (grpc.StatusCode.CANCELLED, 2.95, State.LATE),
        (grpc.StatusCode.CANCELLED, 0.1, State.REFUSED),
        (grpc.StatusCode.INTERNAL, 0.1, State.FAILED),
    ],
)
def test_a_cancel_near_the_deadline_is_the_deadline(code: grpc.StatusCode, seconds: float, state: State) -> None:
    """A server that sees the deadline pass first resets the stream; gRPC's core sheds with the same status."""
    assert outcome_of(error(code), seconds, DEADLINE_SECONDS, 0)[0] is state


def test_goodput_counts_whole_turns_only() -> None:
    """Tokens of a turn that was cut are work for nobody."""
    outcomes = [
        Outcome(State.FINISHED, "", 0.0, 1.0, 0.1, 32),
        Outcome(State.LATE, "deadline mid-stream", 0.0, 3.0, 2.9, 10),
        Outcome(State.REFUSED, "RESOURCE_EXHAUSTED TOO_MANY", 0.0, 0.01, None, 0, 1.0),
    ]
    seen = Seen(2.0, outcomes)
    assert seen.goodput == 16
    assert seen.first_tokens() == [0.1, 2.9]
    assert seen.refusals() == [0.01]


@pytest.mark.parametrize(
    ("after", "seconds"),
    [([10.0, 95.0, 92.0], 1.0), ([95.0, 95.0, 95.0], 0.5), ([95.0, 10.0, 95.0], None), ([], None)],
)
def test_a_server_is_back_when_two_windows_in_a_row_are_full(after: list[float], seconds: float | None) -> None:
    """One full window may be what had waited in a queue."""
    assert Recovery(before=100.0, beside=50.0, after=after).seconds == seconds


def test_a_call_that_outlives_its_deadline_is_lost() -> None:
    """A call that nobody answers and nobody ends is the worst of all, and no status would show it."""
    hung = Outcome(State.LEFT, "", 0.0, DEADLINE_SECONDS + 2, None, 0)
    left = Outcome(State.LEFT, "", 0.0, 1.0, None, 0)
    assert lost_calls(Report(2, [hung, left], []), DEADLINE_SECONDS) == 1
    assert lost_calls(Report(3, [left, left], []), DEADLINE_SECONDS) == 1


@pytest.mark.models
@pytest.mark.slow
def test_every_call_of_an_overload_ends_in_one_state() -> None:
    """Goodput is a share of all calls only if every call is in the books."""
    options = ("--at-once", "4", "--factors", "1,4", "--many", "0", "--seconds", "0.5", "--warm", "0.3")
    printed = output_of("overload", *options)
    assert "gateway: 1x is 4 callers" in printed
    assert "bare: 1x is 4 callers" in printed
    assert column(printed, "lost") == ["0"] * 4
