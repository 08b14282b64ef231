"""What the gateway does at its edges: cancels, deadlines, limits, refusals, engine failures. Real gRPC throughout."""

import asyncio
import threading
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from prometheus_client import CollectorRegistry

from headworks.policy.errors import NoVerdict
from headworks.policy.question import Stage
from headworks.policy.verdict import Obligations
from headworks.server.clock import SystemClock
from headworks.server.engine.settings import SimulatedSettings
from headworks.server.engine.simulated import SimulatedEngine
from headworks.server.flow.settings import FlowSettings
from headworks.server.rpc.server import SERVICE_NAME
from headworks.server.rpc.settings import RpcSettings
from headworks.server.telemetry.settings import TelemetrySettings
from headworks.server.telemetry.telemetry import Telemetry
from headworks.server.turn.record import Outcome
from headworks.server.turn.settings import AnswerSettings, InputSettings, TurnSettings
from headworks.v1 import turn_pb2 as pb
from tests.fakes.engines import FailingEngine, TalkingEngine
from tests.fakes.judges import AllowingJudge, BrokenJudge, DenyingJudge
from tests.server.edge import END, csv, edge, failure_from, failure_of, held_open, setup, table, text, turn
from tests.server.rpc.watching import until

INVALID, EXHAUSTED = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED


async def read_until(call: Any, kind: str) -> None:
    async for reply in call:
        if reply.WhichOneof("event") == kind:
            return
    raise AssertionError(f"no {kind} came")


async def test_sequence_has_no_gap_and_usage_is_counted() -> None:
    """A client can tell that it lost nothing; the ledger is the sum of what turns were told."""
    async with edge() as server:
        replies = [reply async for reply in server.stub.Converse(iter(turn("Hello there")))]
        assert [reply.sequence for reply in replies] == list(range(1, len(replies) + 1))
        usage = replies[-1].finished.usage
        totals = server.meter.totals("local")
        assert (totals.input_tokens, totals.output_tokens) == (usage.input_tokens, usage.output_tokens)
        assert (usage.input_tokens, usage.output_tokens) == (len(server.engine.prompts[0]), 4)


async def test_deadline_reaches_the_engine() -> None:
    """What nobody waits for is not computed (triton#6920)."""
    async with edge() as server:
        server.engine.may_talk.clear()
        failure = await failure_of(server.stub.Converse(iter(turn("Hello")), timeout=2))
        assert failure.code is grpc.StatusCode.DEADLINE_EXCEEDED
        await server.is_clean()
        assert server.engine.closed


async def test_pings_during_a_long_silence_are_welcome() -> None:
    """A client that keeps its connection alive through a silent call is not told to go away (smg PR#648)."""
    options = (("grpc.keepalive_time_ms", 100), ("grpc.http2.max_pings_without_data", 0))
    rpc = RpcSettings(port=0, min_client_ping_seconds=0.05)
    async with edge(rpc=rpc, options=options) as server:
        server.engine.may_talk.clear()
        call = server.stub.Converse(iter(turn("Hello")))
        await read_until(call, "accepted")
        await asyncio.sleep(2)
        server.engine.may_talk.set()
        await read_until(call, "finished")


async def test_health_is_the_standard_one() -> None:
    """Check and Watch follow the server; an unknown service is NOT_FOUND (vllm-project/router#252, vllm PR#33105)."""
    async with edge() as server:
        stub = health_pb2_grpc.HealthStub(server.channel)
        request = health_pb2.HealthCheckRequest(service=SERVICE_NAME)
        assert (await stub.Check(request)).status == health_pb2.HealthCheckResponse.SERVING
        watch = stub.Watch(request)
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
        await server.server.set_serving(False)
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        watch.cancel()
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await stub.Check(health_pb2.HealthCheckRequest(service="nobody"))
        assert failure.value.code() is grpc.StatusCode.NOT_FOUND


async def test_health_answers_while_the_pools_are_full() -> None:
    """Heavy work is not on the event loop, so the answer comes before the work ends (jina PR#5407)."""
    async with edge() as server:
        is_over = threading.Event()
        work = asyncio.create_task(server.intake.pool.run(is_over.wait, 30))
        stub = health_pb2_grpc.HealthStub(server.channel)
        await stub.Check(health_pb2.HealthCheckRequest())
        assert not work.done()
        is_over.set()
        await work


async def test_drain_refuses_new_turns_by_name() -> None:
    """The refusal says that another server will do (smg PR#1172)."""
    async with edge() as server:
        server.admission.drain()
        failure = await failure_of(server.stub.Converse(iter(turn("Hello"))))
        assert (failure.code, failure.reason) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")
        assert failure.retry_after_seconds is not None


async def test_prompt_leaves_room_for_one_token_or_is_too_large() -> None:
    """The engine is never given what it cannot answer, and the sender learns which limit that was."""
    async with edge() as server:
        replies = [reply async for reply in server.stub.Converse(iter(turn("Hello there")))]
        prompt_tokens = replies[-1].finished.usage.input_tokens
    async with edge(TalkingEngine(max_model_tokens=prompt_tokens + 1)) as server:
        await read_until(server.stub.Converse(iter(turn("Hello there"))), "finished")
    async with edge(TalkingEngine(max_model_tokens=prompt_tokens)) as server:
        failure = await failure_of(server.stub.Converse(iter(turn("Hello there"))))
        assert (failure.code, failure.reason) == (EXHAUSTED, "TOO_LARGE")
        assert failure.metadata["limit"] == "engine.talking.max_model_tokens"
        assert all(len(prompt) < prompt_tokens for prompt in server.engine.prompts)


async def test_ceiling_over_the_engines_length_ends_there() -> None:
    """Asked by name or not, more tokens than the prompt leaves room for are no error: the answer ends with LENGTH."""
    simulated = SimulatedSettings(first_token_seconds=0, gap_seconds=0, answer_tokens=10**6, max_model_tokens=100)
    engine = SimulatedEngine((65,), simulated, SystemClock())
    answer = AnswerSettings(default_output_tokens=10**6, max_output_tokens=10**6)
    async with edge(engine, settings=TurnSettings(answer=answer)) as server:
        for asked in (0, 10**6):
            steps = [setup(generation=pb.Generation(max_output_tokens=asked)), text("Hello"), END]
            finished = [reply async for reply in server.stub.Converse(iter(steps))][-1].finished
            assert finished.reason == pb.FINISH_REASON_LENGTH
            assert finished.usage.input_tokens + finished.usage.output_tokens == 100


async def test_upload_far_over_the_message_limit_works_in_chunks() -> None:
    """Ten megabytes, 64 KiB at a time (triton#4972)."""
    data = csv(100_000)
    chunks = [data[start : start + 65536] for start in range(0, len(data), 65536)]
    steps = [setup(), *(table(chunk, last=chunk is chunks[-1]) for chunk in chunks), END]
    async with edge() as server:
        replies = [reply async for reply in server.stub.Converse(iter(steps), timeout=60)]
        assert [reply.read.rows for reply in replies if reply.WhichOneof("event") == "read"] == [100_000]


@pytest.mark.parametrize(
    ("steps", "reason", "limit"),
    [
        ([setup(), table(b"x" * (5 * 1024 * 1024))], "TOO_LARGE", "rpc.max_message_bytes"),
        ([setup(), table(b"x" * (1024 * 1024 + 1))], "TOO_LARGE", "table.data"),
        ([setup(), text("x" * 65537)], "TOO_LARGE", "text.text"),
        ([setup(), text("é" * 32769)], "TOO_LARGE", "text.text"),
        ([setup(), *[text("x") for _ in range(40)]], "TOO_LARGE", "turn.input.max_parts"),
    ],
    ids=["over the message limit", "over the chunk limit", "over the text limit", "in bytes", "too many parts"],
)
async def test_too_much_is_exhausted(steps: list[pb.ConverseRequest], reason: str, limit: str) -> None:
    """Refused before it is parsed where it can be, and by the limit's name (TensorRT-LLM PR#13519)."""
    async with edge() as server:
        failure = await failure_of(server.stub.Converse(iter(steps)))
        assert (failure.code, failure.reason) == (EXHAUSTED, reason)
        assert failure.metadata.get("limit") == limit
        await server.still_works()


@pytest.mark.parametrize(
    ("steps", "reason", "named"),
    [
        ([], "OUT_OF_ORDER", "first step must be setup"),
        ([text("Hello")], "OUT_OF_ORDER", "first step must be setup"),
        ([setup(), setup()], "OUT_OF_ORDER", "second setup"),
        ([setup(), text("Hel", last=False), table(b"a\n1\n")], "OUT_OF_ORDER", "table began before the text"),
        ([setup(), pb.ConverseRequest()], "BAD_REQUEST", "without a step"),
        ([setup(), table(b"a\n1\n", last=False), END], "BAD_MEDIA", "table 1 was cut short"),
        ([setup(), END], "BAD_MEDIA", "no text"),
        ([setup(), table(b"\x00\x01\x02")], "BAD_MEDIA", "table 1"),
        ([setup(voice=pb.VoiceSetup(encoding=2)), END], "BAD_REQUEST", "sample_rate_hertz"),
        ([setup(generation=pb.Generation(temperature=9)), END], "BAD_REQUEST", "temperature"),
        ([setup(instructions="x" * 5000), END], "BAD_REQUEST", "instructions"),
    ],
)
async def test_wrong_steps_are_named_and_harm_nobody(steps: list[pb.ConverseRequest], reason: str, named: str) -> None:
    """A well-formed status with its details, and the channel goes on.

    Reported as smg PR#1682, agentgateway PR#1348, vllm PR#55451, vllm#51467.
    """
    async with edge() as server:
        failure = await failure_of(server.stub.Converse(iter(steps)))
        assert (failure.code, failure.reason) == (INVALID, reason)
        assert named in failure.message
        await server.is_clean()
        await server.still_works()


async def test_step_after_the_end_is_out_of_order() -> None:
    """It would be lost otherwise, and its sender would believe that it was read."""
    async with edge() as server:
        server.engine.may_talk.clear()
        failure = await failure_of(server.stub.Converse(iter([*turn("Hello"), text("again")])))
        assert (failure.code, failure.reason) == (INVALID, "OUT_OF_ORDER")


async def test_silent_sender_is_timed_out() -> None:
    """A paused turn holds a place in the engine's batch, so it may not pause for ever."""
    settings = TurnSettings(input=InputSettings(idle_seconds=0.1, setup_seconds=0.1))
    async with edge(settings=settings) as server:
        for steps in ([], [setup(), text("Hello", last=False)]):
            failure = await failure_of(server.stub.Converse(held_open(steps)))
            assert (failure.code, failure.reason) == (grpc.StatusCode.DEADLINE_EXCEEDED, "TURN_TIMED_OUT")


async def test_stalled_engine_is_timed_out() -> None:
    """A stream that makes no token reaches its caller as an error (tensorzero#6328, dynamo PR#5263)."""
    async with edge(settings=TurnSettings(answer=AnswerSettings(stall_seconds=0.1))) as server:
        server.engine.may_talk.clear()
        failure = await failure_of(server.stub.Converse(iter(turn("Hello"))))
        assert failure.metadata["limit"] == "turn.answer.stall_seconds"


async def test_failure_before_the_first_token_is_tried_again() -> None:
    """The second attempt gets the same prompt, and the turn is booked once (litellm#6957, smg PR#2016)."""
    async with edge(FailingEngine(failures=1)) as server:
        replies = [reply async for reply in server.stub.Converse(iter(turn("Hello")))]
        assert replies[-1].WhichOneof("event") == "finished"
        assert server.engine.prompts[0] == server.engine.prompts[1]
        assert server.meter.totals("local").input_tokens == len(server.engine.prompts[0])


async def test_a_turn_that_the_engine_dropped_keeps_its_place() -> None:
    """It is given to the engine again at once, and not behind those who wait (vllm#41951)."""
    async with edge(FailingEngine(failures=1), flow=FlowSettings(max_turns=1)) as server:
        dropped = server.stub.Converse()
        for step in (setup(), text("Hello.")):
            await dropped.write(step)
        await until(lambda: server.admission.held)
        others = [server.stub.Converse(iter(turn("Hello."))) for _ in range(20)]
        await until(lambda: server.admission.waiting == len(others))
        await dropped.write(END)
        await asyncio.gather(*(read_until(call, "finished") for call in (dropped, *others)))
        ids = [request.turn_id for request in server.engine.requests]
        assert (ids[0], len(set(ids)), len(ids)) == (ids[1], 21, 22)


async def test_failure_on_every_attempt_says_when_to_retry() -> None:
    """No token was made, so another try is safe."""
    async with edge(FailingEngine(failures=9)) as server:
        failure = await failure_of(server.stub.Converse(iter(turn("Hello"))))
        assert (failure.code, failure.reason) == (grpc.StatusCode.UNAVAILABLE, "ENGINE_UNAVAILABLE")
        assert failure.retry_after_seconds is not None


async def test_failure_after_a_token_is_not_tried_again() -> None:
    """A second try would repeat text (litellm PR#32835, dynamo PR#5263)."""
    async with edge(FailingEngine(is_after_token=True)) as server:
        failure = await failure_of(server.stub.Converse(iter(turn("Hello"))))
        assert (failure.code, failure.reason) == (grpc.StatusCode.ABORTED, "ENGINE_BROKEN")
        assert len(server.engine.requests) == 1


@pytest.mark.parametrize("stage", [Stage.OPEN, Stage.INPUT])
async def test_refusal_names_its_decision_and_keeps_input_from_the_engine(stage: Stage) -> None:
    """The model never sees what policy refused."""
    async with edge(judge=DenyingJudge(stage, "NOT_TODAY")) as server:
        failure = await failure_of(server.stub.Converse(iter(turn("Hello"))))
        assert (failure.code, failure.reason) == (grpc.StatusCode.PERMISSION_DENIED, "TURN_REFUSED")
        assert failure.metadata["decision_id"]
        assert failure.metadata["reasons"] == "NOT_TODAY"
        assert server.engine.prompts == []
        assert [record.outcome for record in server.recorder.finished] == [Outcome.REFUSED]


@pytest.mark.parametrize("reason", list(NoVerdict))
async def test_no_verdict_is_a_refusal_with_its_reason(reason: NoVerdict) -> None:
    """Down, slow, undefined and odd are told apart, and none of them lets a turn through (opa#2732)."""
    async with edge(judge=BrokenJudge(reason)) as server:
        failure = await failure_of(server.stub.Converse(iter(turn("Hello"))))
        assert (failure.code, failure.reason) == (grpc.StatusCode.UNAVAILABLE, reason.value)
        assert failure.metadata["decision_id"]
        assert server.engine.requests == []


async def test_obligations_are_kept() -> None:
    """Modalities, prompt and answer ceilings and rates, as the verdict said; what is left goes down.

    Reported as litellm#27381, aigw#1754.
    """
    obligations = Obligations(max_output_tokens=2, turns_per_minute=2, tokens_per_minute=10**6, modalities=("text",))
    async with edge(judge=AllowingJudge(obligations)) as server:
        replies = [reply async for reply in server.stub.Converse(iter(turn("Hello")))]
        usage = replies[-1].finished.usage
        assert usage.output_tokens == 2
        assert usage.remaining_tokens_per_minute < 10**6
        refused = await failure_of(server.stub.Converse(iter([setup(), table(b"a\n1\n")])))
        assert refused.metadata["reasons"] == "MODALITY_NOT_ALLOWED"
        limited = await failure_of(server.stub.Converse(iter(turn("Hello"))))
        assert (limited.code, limited.metadata["limit"]) == (EXHAUSTED, "obligations.turns_per_minute")
        assert limited.retry_after_seconds is not None
    async with edge(judge=AllowingJudge(Obligations(max_input_tokens=3))) as server:
        failure = await failure_of(server.stub.Converse(iter(turn("Hello"))))
        assert failure.metadata["limit"] == "obligations.max_input_tokens"


async def test_garbage_credentials_are_refused_even_on_loopback() -> None:
    """A wrong key is never taken for none, and a tenant header for nothing (aigw PR#2053)."""
    async with edge() as server:
        call = server.stub.Converse(iter(turn("Hello")), metadata=(("authorization", "Bearer nonsense"),))
        failure = await failure_of(call)
        assert (failure.code, failure.reason) == (grpc.StatusCode.UNAUTHENTICATED, "UNKNOWN_CALLER")
        assert "nonsense" not in failure.message
        spoofed = server.stub.Converse(iter(turn("Hello")), metadata=(("x-tenant", "other"),))
        await read_until(spoofed, "finished")
        assert server.meter.totals("other").turns == 0


async def test_normalize_errors_have_their_details_too() -> None:
    """A unary answer's error is no poorer (agentgateway PR#1348)."""
    async with edge() as server:
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await server.stub.Normalize(iter([pb.NormalizeRequest()]))
        assert failure_from(failure.value).reason == "BAD_REQUEST"


async def test_callers_trace_goes_on_to_the_engine() -> None:
    """One trace id from client to engine, not a new root here (openllmetry#2291)."""
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    telemetry = Telemetry(TelemetrySettings(), CollectorRegistry())
    async with edge(observer=telemetry) as server:
        metadata = (("traceparent", f"00-{trace_id}-00f067aa0ba902b7-01"),)
        await read_until(server.stub.Converse(iter(turn("Hello")), metadata=metadata), "finished")
        assert server.engine.requests[0].trace_headers["traceparent"].split("-")[1] == trace_id
