"""An error that nobody expected: the caller learns the turn's id, the log the place, and nobody what was said."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

import grpc
import pytest
from prometheus_client import CollectorRegistry

from headworks.intake.finding import Finding
from headworks.intake.preprocessor import Preprocessor
from headworks.intake.span import Modality
from headworks.intake.voice.encoding import VoiceForm
from headworks.policy.question import Question
from headworks.policy.verdict import Verdict
from headworks.server.engine.engine import EngineRequest, Piece
from headworks.server.status import INTERNAL_TEXT
from headworks.server.telemetry.log import EventFormatter
from headworks.server.telemetry.settings import TelemetrySettings
from headworks.server.telemetry.telemetry import Telemetry
from headworks.server.turn.record import TurnRecord
from tests.fakes.engines import TalkingEngine
from tests.fakes.judges import AllowingJudge
from tests.server.edge import Edge, TextAndTables, edge, failure_from, failure_of, turn
from tests.server.rpc.watching import as_normalize

SECRET = "my PIN is 4711"


class LeakingEngine(TalkingEngine):
    """Fails as a library would that puts its input into the message."""

    async def _talk(self, request: EngineRequest) -> AsyncGenerator[Piece, None]:
        yield Piece((65,))
        raise ValueError(f"cannot sample after {SECRET!r}")


class LeakingJudge(AllowingJudge):
    """Fails with what it was asked about."""

    def _verdict(self, question: Question) -> Verdict:
        raise KeyError(SECRET)


class LeakingIntake(TextAndTables):
    """Its preprocessor chains two errors, both with the text in them."""

    def open_part(self, modality: Modality, part: int, form: VoiceForm, owner: str) -> Preprocessor:
        return self

    async def process(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[Finding, None]:
        async for chunk in chunks:
            try:
                int(chunk)
            except ValueError as error:
                raise RuntimeError(f"no number: {chunk.decode()}") from error
        yield  # type: ignore[misc]  # never reached; it makes this a generator


class LeakingObserver(Telemetry):
    """Breaks its promise not to raise."""

    def turn_started(self, record: TurnRecord) -> dict[str, str]:
        raise LookupError(SECRET)


def leaking_observer() -> LeakingObserver:
    return LeakingObserver(TelemetrySettings(), CollectorRegistry())


LEAKS: dict[str, tuple[Callable[[], Any], str]] = {
    "engine": (LeakingEngine, "ValueError"),
    "judge": (LeakingJudge, "KeyError"),
    "intake": (LeakingIntake, "RuntimeError"),
    "observer": (leaking_observer, "LookupError"),
}
"""What fails, by its name in `edge`, and with which error."""


def leaking(part: str) -> dict[str, Any]:
    make, _ = LEAKS[part]
    return {"observer": Telemetry(TelemetrySettings(), CollectorRegistry()), part: make()}


def written(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(f"{EventFormatter().format(record)} {record.exc_info}" for record in caplog.records)


async def check_failure(server: Edge, caplog: pytest.LogCaptureFixture, call: Any, error_type: str) -> None:
    """Look at the last call's status, trailers and log."""
    trailing = dict(await call.trailing_metadata())
    turn_id = trailing["headworks-turn-id"]
    assert SECRET not in str(trailing)
    (record,) = [record for record in caplog.records if record.message == "call.failed"]
    facts = vars(record)
    assert (record.name, record.levelname, record.exc_info) == ("headworks.rpc", "ERROR", None)
    assert (facts["turn_id"], facts["error"]) == (turn_id, error_type)
    assert any("test_internal.py" in place for place in facts["stack"])
    assert SECRET not in written(caplog)
    await server.is_clean()


@pytest.mark.parametrize("part", LEAKS)
async def test_an_unexpected_error_keeps_its_message_to_itself(part: str, caplog: pytest.LogCaptureFixture) -> None:
    """The message may hold what the caller said: every logger is scanned at DEBUG, the reply and its trailers too."""
    caplog.set_level(logging.DEBUG)
    async with edge(**leaking(part)) as server:
        call = server.stub.Converse(iter(turn(SECRET)))
        failure = await failure_of(call)
        assert (failure.code, failure.reason) == (grpc.StatusCode.INTERNAL, "INTERNAL")
        assert (failure.message, failure.metadata) == (INTERNAL_TEXT, {})
        assert failure.retry_after_seconds is None
        await check_failure(server, caplog, call, LEAKS[part][1])


@pytest.mark.parametrize("part", ["judge", "intake", "observer"])
async def test_normalize_keeps_it_as_well(part: str, caplog: pytest.LogCaptureFixture) -> None:
    """The other form of call, the same border."""
    caplog.set_level(logging.DEBUG)
    async with edge(**leaking(part)) as server:
        call = server.stub.Normalize(iter(as_normalize(turn(SECRET))))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call
        failure = failure_from(caught.value)
        assert (failure.code, failure.message) == (grpc.StatusCode.INTERNAL, INTERNAL_TEXT)
        await check_failure(server, caplog, call, LEAKS[part][1])


async def test_a_turn_that_ends_well_leaves_no_word_of_it_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Nor does one that was refused for its input."""
    caplog.set_level(logging.DEBUG)
    async with edge(observer=Telemetry(TelemetrySettings(), CollectorRegistry())) as server:
        [_ async for _ in server.stub.Converse(iter(turn(SECRET)))]
        await failure_of(server.stub.Converse(iter(turn(f"{SECRET}\0"))))
    assert [record.message for record in caplog.records].count("turn.finished") == 2
    assert SECRET not in written(caplog)
