"""What /metrics says of turns, by name and number."""

import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from headworks.policy.identity.settings import CredentialSettings
from headworks.server.engine.engine import Engine
from headworks.server.flow.figures import FlowFigures
from headworks.server.flow.watch import Alarm, FlowWatch, Signal, WatchSettings
from headworks.server.telemetry.load import LoadCollector
from headworks.server.telemetry.log import FlowLog
from headworks.server.telemetry.metrics import process_registry
from headworks.server.telemetry.settings import TelemetrySettings
from headworks.server.telemetry.telemetry import Telemetry
from headworks.server.turn.settings import AnswerSettings, TurnSettings
from tests.fakes.engines import FailingEngine, TalkingEngine
from tests.server.edge import Edge, edge, failure_of, turn
from tests.server.rpc.watching import next_event, until

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"
CHAT = {"gen_ai_operation_name": "chat", "gen_ai_provider_name": "headworks", "gen_ai_request_model": "talking"}


@asynccontextmanager
async def measured(
    engine: Engine | None = None, settings: TurnSettings | None = None
) -> AsyncIterator[tuple[Edge, CollectorRegistry]]:
    registry = CollectorRegistry()
    telemetry = Telemetry(TelemetrySettings(), registry)
    async with edge(engine, observer=telemetry, settings=settings) as server:
        yield server, registry
    telemetry.close()


def sample(registry: CollectorRegistry, name: str, **labels: str) -> float:
    return registry.get_sample_value(name, labels) or 0.0


async def test_a_turn_is_counted_under_the_fields_names() -> None:
    """Dashboards for any gateway then work here."""
    async with measured(TalkingEngine(4)) as (server, registry):
        replies = [reply async for reply in server.stub.Converse(iter(turn("Hello.")))]
        usage = replies[-1].finished.usage
        await until(lambda: sample(registry, "headworks_turns_total", outcome="finished") == 1)
    for name in ("time_to_first_token", "time_per_output_token"):
        assert sample(registry, f"gen_ai_server_{name}_seconds_count", **CHAT) == 1
    assert sample(registry, "gen_ai_server_request_duration_seconds_count", **CHAT, error_type="") == 1
    for kind, tokens in (("input", usage.input_tokens), ("output", usage.output_tokens)):
        assert sample(registry, "gen_ai_client_token_usage_sum", **CHAT, gen_ai_token_type=kind) == tokens > 0
    deltas = sum(1 for reply in replies if reply.WhichOneof("event") == "delta")
    assert sample(registry, "headworks_messages_total") == deltas
    assert sample(registry, "headworks_longest_gap_seconds_count") == 1


async def stalled(server: Edge) -> None:
    server.engine.may_talk.clear()
    assert (await failure_of(server.stub.Converse(iter(turn("Hello"))))).code is grpc.StatusCode.DEADLINE_EXCEEDED
    server.engine.may_talk.set()


SHORT = TurnSettings(answer=AnswerSettings(stall_seconds=0.05))


async def test_turns_that_waited_are_told_from_those_that_stalled() -> None:
    """Each has its own remedy: more engines, or a look at the one that hangs (litellm#14457 shows one number)."""
    async with measured(settings=SHORT) as (server, registry):
        await stalled(server)
        await until(lambda: sample(registry, "headworks_limits_met_total", limit="turn.answer.stall_seconds") == 1)
    assert sample(registry, "headworks_turn_errors_total", error="TurnTimedOut") == 1


async def test_an_engine_that_is_away_is_no_limit() -> None:
    """The third cause beside a full line and a passed deadline (llm-d-router PR#2162)."""
    async with measured(FailingEngine(failures=9)) as (server, registry):
        await failure_of(server.stub.Converse(iter(turn("Hello"))))
        await until(lambda: sample(registry, "headworks_turn_errors_total", error="EngineUnavailable") == 1)
    assert "headworks_limits_met_total{" not in generate_latest(registry).decode()


async def test_tokens_of_a_turn_that_was_cancelled_are_counted() -> None:
    """Totals that leave them out cannot be compared with the engine's own (vllm#55634)."""
    async with measured(TalkingEngine(8, pauses=True)) as (server, registry):
        call = server.stub.Converse(iter(turn("Hello")))
        await next_event(call, "delta")
        call.cancel()
        await until(lambda: sample(registry, "headworks_turns_total", outcome="cancelled") == 1)
        booked = server.meter.totals(CredentialSettings().loopback_tenant)
    assert sample(registry, "headworks_tokens_total", direction="input") == len(server.engine.prompts[0]) > 0
    assert sample(registry, "headworks_tokens_total", direction="output") == booked.output_tokens > 0


REFUSED = {"flow.line.max_waiting": 3, "deadline": 2, "flow.max_tenant_turns": 5, "flow.limit": 1}


def load_registry(flow: FlowFigures, watch: FlowWatch | None = None) -> CollectorRegistry:
    registry = CollectorRegistry()
    watch = watch or FlowWatch(WatchSettings(), FlowLog())
    registry.register(LoadCollector(lambda: flow, TalkingEngine(), watch, TelemetrySettings(max_tenants_shown=2)))
    return registry


def test_each_reason_of_a_refusal_has_its_own_series() -> None:
    """A full line, a wait or a deadline that is over, a tenant's own limit: one number for all says nothing.

    Reported as llm-d-router PR#2162, where all of it showed as one error.
    """
    registry = load_registry(FlowFigures(refused_by_reason=REFUSED))
    for limit, count in REFUSED.items():
        assert sample(registry, "headworks_turns_refused_total", limit=limit) == count


def test_figures_of_flow_are_shown_as_they_are() -> None:
    """Depth by class, the limit with its reason, and the counters of the two largest tenants."""
    flow = FlowFigures(
        held=7,
        limit=9,
        limited_by="loop_lag",
        waiting_by_class={"interactive": 2, "batch": 3},
        counters_by_tenant={"a": 5.0, "b": 9.0, "c": 1.0},
        loop_lag_seconds=0.004,
    )
    registry = load_registry(flow)
    assert sample(registry, "headworks_turns_waiting") == 5
    assert sample(registry, "headworks_class_turns_waiting", **{"class": "batch"}) == 3
    assert sample(registry, "headworks_turns_limit") == 9
    assert sample(registry, "headworks_limited_by", pressure="loop_lag") == 1
    assert sample(registry, "headworks_loop_lag_seconds") == 0.004
    assert [sample(registry, "headworks_tenant_counter", tenant=name) for name in ("b", "a", "other")] == [9, 5, 1]


def test_an_alarm_is_shown_counted_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    """An operator sees it standing, and afterwards that it stood."""
    watch = FlowWatch(WatchSettings(), FlowLog())
    now = 0.0
    with caplog.at_level(logging.INFO, "headworks.flow"):
        for gap in [1.0] * 500 + [0.001] * 20:
            now += gap
            watch.arrived(now)
        registry = load_registry(FlowFigures(), watch)
        arrivals = Signal.ARRIVALS.value
        assert sample(registry, "headworks_alarm", signal=arrivals) == 1
        assert sample(registry, "headworks_signal_usual", signal=arrivals) == pytest.approx(1, rel=0.2)
        for _ in range(40):
            now += 1.0
            watch.arrived(now)
    assert sample(registry, "headworks_alarm", signal=arrivals) == 0
    assert sample(registry, "headworks_alarms_total", signal=arrivals) == 1
    assert [record.message for record in caplog.records] == ["flow.alarmed", "flow.calmed"]


def test_a_quiet_log_costs_nothing_for_a_turn(caplog: pytest.LogCaptureFixture) -> None:
    """The line at a turn's start is for who looks closely; the one at its end says all of it."""
    alarm = Alarm(Signal.GAPS, 0.0, 3.0)
    with caplog.at_level(logging.ERROR, "headworks.flow"):
        FlowLog().alarmed(alarm)
    assert caplog.records == []


async def test_a_turn_is_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Two lines were a twentieth of what a turn costs, and the first one said nothing that the last does not."""
    with caplog.at_level(logging.INFO, "headworks.turn"):
        async with measured() as (server, _):
            await server.still_works()
            await until(lambda: bool(caplog.records))
    assert [record.message for record in caplog.records if record.name == "headworks.turn"] == ["turn.finished"]


def test_the_page_names_every_metric_with_its_type() -> None:
    """What is missing there is looked for in the code, and what is gone is alerted on for nothing."""
    registry = process_registry()
    Telemetry(TelemetrySettings(), registry).close()
    watch = FlowWatch(WatchSettings(), FlowLog())
    registry.register(LoadCollector(FlowFigures, TalkingEngine(), watch, TelemetrySettings()))
    ours = {
        metric.name + ("_total" if metric.type == "counter" else ""): metric.type
        for metric in registry.collect()
        if metric.name.startswith(("headworks_", "gen_ai_"))
    }
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", PAGE.read_text(), re.MULTILINE)
    assert dict(rows) == ours
    assert len(rows) == len(ours)


async def test_admission_shows_its_own_figures() -> None:
    """What is scraped is what admission decides by, and each name errors use for a limit is a series."""
    async with measured(TalkingEngine(8, pauses=True)) as (server, registry):
        registry.register(
            LoadCollector(server.admission.figures, server.engine, server.admission.watch, TelemetrySettings())
        )
        call = server.stub.Converse(iter(turn("Hello")))
        await next_event(call, "delta")
        assert sample(registry, "headworks_turns_running") == 1
        assert sample(registry, "headworks_turns_limit") == server.admission.limit.turns > 1
        assert sample(registry, "headworks_tokens_outstanding") > 1
        assert sample(registry, "headworks_turns_admitted_total", **{"class": "interactive"}) == 1
        assert sample(registry, "headworks_tenant_counter", tenant=CredentialSettings().loopback_tenant) > 0
        call.cancel()
        await until(lambda: sample(registry, "headworks_turns_total", outcome="cancelled") == 1)
        assert sample(registry, "headworks_turns_running") == sample(registry, "headworks_tokens_outstanding") == 0
        assert sample(registry, "headworks_queue_seconds_count", **{"class": "interactive"}) == 1
