"""Spans as a collector receives them, over OTLP, from real turns."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from prometheus_client import CollectorRegistry

from headworks.graphql.ports.turns import Finished, TurnRequest
from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.judge import Judge
from headworks.server.engine.engine import Engine
from headworks.server.graph.turns import RunnerTurns
from headworks.server.telemetry.settings import TelemetrySettings
from headworks.server.telemetry.telemetry import Telemetry
from headworks.server.turn.settings import AnswerSettings, TurnSettings
from headworks.server.visit.visit import Visit
from tests.fakes.collector import Collector, attributes_of, collecting
from tests.fakes.engines import FailingEngine, TalkingEngine
from tests.fakes.judges import DenyingJudge
from tests.server.edge import Edge, edge, failure_of, held_open, setup, text, turn
from tests.server.rpc.watching import next_event, until

TRACE_ID, CALLERS_SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACED = (("traceparent", f"00-{TRACE_ID}-{CALLERS_SPAN}-01"), ("tracestate", "vendor=value"))
SECRET = "my PIN is 4711"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as running:
        yield running


@asynccontextmanager
async def traced(
    collector: Collector,
    engine: Engine | None = None,
    judge: Judge | None = None,
    service_name: str = "headworks",
    settings: TurnSettings | None = None,
) -> AsyncIterator[Edge]:
    """An `edge` that exports to the collector; at the end everything was exported."""
    exporting = TelemetrySettings(traces_endpoint=collector.endpoint, service_name=service_name)
    telemetry = Telemetry(exporting, CollectorRegistry())
    async with edge(engine, judge, observer=telemetry, settings=settings) as server:
        yield server
    await asyncio.to_thread(telemetry.close)


def only_span(collector: Collector) -> Span:
    (span,) = collector.spans
    return span


async def test_a_turn_is_a_span_of_its_callers_trace(collector: Collector) -> None:
    """One trace id from client to engine; the turn's span is the caller's child and the engine's parent.

    Reported as openllmetry#2291.
    """
    async with traced(collector, service_name="gateway-7") as server:
        replies = [reply async for reply in server.stub.Converse(iter(turn("Hello.")), metadata=TRACED)]
    span, usage = only_span(collector), replies[-1].finished.usage
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE_ID, CALLERS_SPAN)
    assert span.trace_state == "vendor=value"
    assert (span.name, span.kind) == ("turn", Span.SPAN_KIND_SERVER)
    assert span.end_time_unix_nano > span.start_time_unix_nano
    attributes = attributes_of(span)
    assert {name: value for name, value in attributes.items() if not name.endswith("_seconds")} == {
        "gen_ai.request.model": "talking",
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "headworks.turn.id": replies[0].accepted.turn_id,
        "headworks.turn.messages": sum(1 for reply in replies if reply.WhichOneof("event") == "delta"),
        "headworks.turn.outcome": "finished",
        "headworks.turn.service_class": "interactive",
    }
    steps = ("policy", "queue", "first_token", "longest_gap")
    assert {name for name in attributes if name.endswith("_seconds")} == {f"headworks.turn.{s}_seconds" for s in steps}
    assert span.events == []
    assert span.status.code == Status.STATUS_CODE_UNSET
    engines = server.engine.requests[0].trace_headers["traceparent"]
    assert engines == f"00-{TRACE_ID}-{span.span_id.hex()}-01"
    assert ("service.name", "gateway-7") in collector.resources


@pytest.mark.parametrize("traceparent", ["", "garbage", f"00-{'0' * 32}-{CALLERS_SPAN}-01", f"ff-{TRACE_ID}-x-01"])
async def test_a_caller_without_a_trace_gets_one(collector: Collector, traceparent: str) -> None:
    """What is no trace context begins a new one, and harms no turn."""
    async with traced(collector) as server:
        call = server.stub.Converse(iter(turn("Hello.")), metadata=(("traceparent", traceparent),))
        await next_event(call, "finished")
    span = only_span(collector)
    assert span.parent_span_id == b""
    assert any(span.trace_id)
    assert span.trace_id.hex() != TRACE_ID


async def test_a_caller_that_samples_nothing_is_followed(collector: Collector) -> None:
    """Its trace id goes on to the engine, and no span is exported."""
    async with traced(collector) as server:
        metadata = (("traceparent", f"00-{TRACE_ID}-{CALLERS_SPAN}-00"),)
        await next_event(server.stub.Converse(iter(turn("Hello.")), metadata=metadata), "finished")
        version, trace_id, _, flags = server.engine.requests[0].trace_headers["traceparent"].split("-")
        assert (version, trace_id, flags) == ("00", TRACE_ID, "00")
    assert collector.spans == []


async def test_a_turn_over_graphql_is_in_its_callers_trace_too(collector: Collector) -> None:
    """One trace id from client to engine, whichever door the caller takes."""
    trace = {name: value for name, value in TRACED if name == "traceparent"}
    caller = Caller("acme", "ann", AuthenticatedBy.API_KEY)
    visit = Visit(caller, is_encrypted=True, is_loopback=True, trace_headers=trace, peer="")
    async with traced(collector) as server:
        assert isinstance(await RunnerTurns(server.runner, visit).run(TurnRequest(("Hello.",))), Finished)
    span = only_span(collector)
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE_ID, CALLERS_SPAN)
    engines = server.engine.requests[0].trace_headers["traceparent"]
    assert engines == f"00-{TRACE_ID}-{span.span_id.hex()}-01"


async def test_a_turn_that_a_limit_ended_names_it(collector: Collector) -> None:
    """Its span says what the caller was told, and that no token came; it is there though nothing ran (vllm#32162)."""
    settings = TurnSettings(answer=AnswerSettings(stall_seconds=0.05))
    engine = TalkingEngine()
    engine.may_talk.clear()
    async with traced(collector, engine, settings=settings) as server:
        await failure_of(server.stub.Converse(iter(turn("Hello.")), metadata=TRACED))
    attributes = attributes_of(only_span(collector))
    assert attributes["headworks.turn.limit"] == "turn.answer.stall_seconds"
    assert attributes["gen_ai.usage.output_tokens"] == 0
    assert "headworks.turn.first_token_seconds" not in attributes


async def refused(server: Edge) -> None:
    await failure_of(server.stub.Converse(iter(turn(SECRET)), metadata=TRACED))


async def cancelled(server: Edge) -> None:
    call = server.stub.Converse(held_open([setup(), text(SECRET, last=False)]), metadata=TRACED)
    await next_event(call, "accepted")
    call.cancel()
    await until(lambda: not server.admission.held)


ENDS = {
    "refused": (refused, TalkingEngine, lambda: DenyingJudge(reason=SECRET), "TurnRefused"),
    "failed": (refused, lambda: FailingEngine(is_after_token=True), lambda: None, "EngineBroken"),
    "cancelled": (cancelled, TalkingEngine, lambda: None, "CancelledError"),
}


@pytest.mark.parametrize("outcome", ENDS)
async def test_every_end_closes_its_span(collector: Collector, outcome: str) -> None:
    """Refused, failed and cancelled turns are told apart, by the error's type, not its message (vllm PR#38678)."""
    end, engine, judge, error = ENDS[outcome]
    async with traced(collector, engine(), judge()) as server:
        await end(server)
    span = only_span(collector)
    attributes = attributes_of(span)
    assert (attributes["headworks.turn.outcome"], attributes["error.type"]) == (outcome, error)
    assert (span.status.code, span.status.message) == (Status.STATUS_CODE_ERROR, outcome)
    assert span.events == []


async def test_no_span_holds_content(collector: Collector) -> None:
    """Neither what was said nor what was answered, in no field of what is sent; instructions and keys neither."""
    async with traced(collector) as server:
        steps = [setup(instructions=SECRET, purpose="pin"), text(SECRET, last=True)]
        call = server.stub.Converse(iter(steps), metadata=(*TRACED, ("baggage", "pin=4711")))
        replies = [reply async for reply in call]
    answered = "".join(reply.delta.text for reply in replies)
    sent = b"".join(request.SerializeToString() for request in collector.requests)
    assert collector.spans
    assert answered
    for words in (SECRET, "4711", "pin", answered):
        assert words.encode() not in sent


async def test_a_collector_that_is_away_costs_no_turn() -> None:
    """Spans are dropped; turns neither wait nor fail, and the end of the process waits no longer than was set."""
    settings = TelemetrySettings(traces_endpoint="http://127.0.0.1:1", max_queued_spans=2, export_seconds=0.2)
    telemetry = Telemetry(settings, CollectorRegistry())
    async with edge(observer=telemetry) as server:
        for _ in range(5):
            await server.still_works()
    async with asyncio.timeout(5):
        await asyncio.to_thread(telemetry.close)


async def test_no_variable_turns_tls_on_for_a_collector_without_it(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The endpoint's scheme has said it; OpenTelemetry reads a variable of its own first."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_INSECURE", "false")
    async with traced(collector) as server:
        await server.still_works()
    assert collector.spans
