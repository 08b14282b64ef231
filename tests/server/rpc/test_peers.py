"""Peers that are slow, frozen, killed or too eager, and engines and judges that fail half-way."""

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from headworks.policy.question import Question, Stage
from headworks.policy.verdict import Verdict
from headworks.server.engine.engine import EngineRequest, Piece
from headworks.server.engine.errors import EngineUnavailable
from headworks.server.rpc.server import SERVICE_NAME
from headworks.server.rpc.settings import RpcSettings
from headworks.server.turn.record import Outcome
from headworks.server.turn.settings import AnswerSettings, TurnSettings
from headworks.v1 import turn_pb2 as pb
from tests.fakes.engines import FailingEngine, TalkingEngine
from tests.fakes.judges import AllowingJudge, DenyingJudge, SilentJudge
from tests.server.edge import END, failure_of, setup, text, turn
from tests.server.rpc.watching import next_event, settled, until, watched

CLIENT = """
import sys, grpc
from headworks.v1 import turn_pb2 as pb
from headworks.v1.turn_pb2_grpc import TurnServiceStub
steps = [pb.ConverseRequest(setup=pb.TurnSetup()), pb.ConverseRequest(text=pb.TextChunk(text="Hi.", last=True)),
         pb.ConverseRequest(end_of_input=pb.EndOfInput())]
with grpc.insecure_channel(sys.argv[1]) as channel:
    for reply in TurnServiceStub(channel).Converse(iter(steps)):
        pass
"""
"""A caller in a process of its own."""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
async def test_gone_client_frees_the_engine(number: signal.Signals) -> None:
    """A killed process, and one that answers no ping any more, hold nothing after the keepalive (vllm#10806)."""
    rpc = RpcSettings(port=0, keepalive_seconds=0.5, keepalive_timeout_seconds=0.5)
    async with watched(rpc=rpc) as server:
        server.engine.may_talk.clear()
        client = await asyncio.create_subprocess_exec(sys.executable, "-c", CLIENT, f"127.0.0.1:{server.server.port}")
        try:
            await until(lambda: server.engine.load().running == 1, 30)
            client.send_signal(number)
            await until(lambda: server.engine.load().running == 0)
            await settled(server)
            assert server.recorder.finished[0].outcome is Outcome.CANCELLED
        finally:
            if client.returncode is None:
                client.kill()
            await client.wait()


async def test_silent_normalize_may_be_pinged() -> None:
    """A unary call that waits for policy does not cost the connection its life (smg PR#648)."""
    judge = SilentJudge()
    options = (("grpc.keepalive_time_ms", 100), ("grpc.http2.max_pings_without_data", 0))
    async with watched(None, judge, rpc=RpcSettings(port=0, min_client_ping_seconds=0.05), options=options) as server:
        call = server.stub.Normalize(iter([pb.NormalizeRequest(setup=pb.TurnSetup())]))
        await judge.asked.wait()
        done, _ = await asyncio.wait({asyncio.ensure_future(call.code())}, timeout=2)
        assert not done
        call.cancel()
        await settled(server)


async def test_pings_over_the_limit_end_the_connection() -> None:
    """The counter-proof: under a limit that these pings break, the same silence ends in a GOAWAY."""
    options = (("grpc.keepalive_time_ms", 100), ("grpc.http2.max_pings_without_data", 0))
    async with watched(rpc=RpcSettings(port=0, min_client_ping_seconds=60), options=options) as server:
        server.engine.may_talk.clear()
        failure = await failure_of(server.stub.Converse(iter(turn("Hello."))))
        assert failure.code is grpc.StatusCode.UNAVAILABLE
        assert failure.message == "Too many pings"


class _Flood(TalkingEngine):
    """Makes 2,000 tokens a piece, for ever."""

    made = 0

    async def _talk(self, request: EngineRequest) -> AsyncGenerator[Piece, None]:
        while True:
            await asyncio.sleep(0)
            self.made += 1
            yield Piece((65,) * 2000)
            if self.made >= 200:
                await asyncio.Event().wait()


async def test_caller_that_does_not_read_is_cut_by_name() -> None:
    """The server ends the turn itself, and a caller who reads at last learns why (grpc/grpc#37715)."""
    options = (("grpc.http2.lookahead_bytes", 1024), ("grpc.http2.bdp_probe", 0))
    async with watched(_Flood(), rpc=RpcSettings(port=0, send_seconds=0.3), options=options) as server:
        call = server.stub.Converse(iter(turn("Hello.")))
        await until(lambda: server.recorder.finished)
        await settled(server)
        assert [record.error for record in server.recorder.finished] == ["TurnTimedOut"]
        failure = await failure_of(call)
        assert (failure.code, failure.metadata) == (grpc.StatusCode.DEADLINE_EXCEEDED, {"limit": "rpc.send_seconds"})


async def test_drain_lets_a_running_stream_end() -> None:
    """Health says no, a new turn is sent elsewhere, the running one gets its whole answer (smg PR#1172)."""
    async with watched() as server:
        server.engine.may_talk.clear()
        running = server.stub.Converse(iter(turn("Hello.")))
        await until(lambda: server.engine.load().running == 1)
        await server.server.set_serving(False)
        server.admission.drain()
        assert (await failure_of(server.stub.Converse(iter(turn("Hello."))))).reason == "DRAINING"
        health = health_pb2_grpc.HealthStub(server.channel)
        for service in ("", SERVICE_NAME):
            state = (await health.Check(health_pb2.HealthCheckRequest(service=service))).status
            assert state == health_pb2.HealthCheckResponse.NOT_SERVING
        server.engine.may_talk.set()
        await next_event(running, "finished")
        await asyncio.wait_for(server.admission.wait_idle(), 5)


@pytest.mark.parametrize("kind", ["Converse", "Normalize"])
async def test_deadline_ends_a_silent_judge(kind: str) -> None:
    """A peer of ours that never answers costs a caller no more than their deadline (triton#6920, agentgateway#3412)."""
    async with watched(None, SilentJudge()) as server:
        call = getattr(server.stub, kind)(timeout=0.3)
        await call.write({"Converse": pb.ConverseRequest, "Normalize": pb.NormalizeRequest}[kind](setup=pb.TurnSetup()))
        assert await call.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        await settled(server)
        assert server.engine.requests == []


async def test_server_limit_holds_without_a_deadline() -> None:
    """A caller who sets no deadline is held to the server's own, and told its name (tensorzero#6328)."""
    async with watched(settings=TurnSettings(max_seconds=0.3)) as server:
        server.engine.may_talk.clear()
        failure = await failure_of(server.stub.Converse(iter(turn("Hello."))))
        assert (failure.code, failure.metadata["limit"]) == (grpc.StatusCode.DEADLINE_EXCEEDED, "turn.max_seconds")


class _SecondThoughts(DenyingJudge):
    """Allows the turn and its first input, refuses the second."""

    def _verdict(self, question: Question) -> Verdict:
        is_second = sum(asked.stage is Stage.INPUT for asked in self.questions) > 1
        return super()._verdict(question) if is_second else AllowingJudge._verdict(self, question)


async def test_refusal_in_the_middle_of_input_aborts_the_engine() -> None:
    """The engine was prefilling already; it is told, and none of the refused input reached it."""
    judge = _SecondThoughts()
    async with watched(None, judge) as server:
        call = server.stub.Converse()
        await call.write(setup())
        await call.write(text("Fine. And", last=False))
        await until(lambda: server.engine.prompts and server.engine.prompts[0])
        before = server.engine.prompts[0]
        await call.write(text(" more. And", last=False))
        failure = await failure_of(call)
        assert (failure.code, failure.reason) == (grpc.StatusCode.PERMISSION_DENIED, "TURN_REFUSED")
        await settled(server)
        assert server.engine.prompts == [before]


class _Quitting(TalkingEngine):
    """Ends after a token, without a reason."""

    async def _talk(self, request: EngineRequest) -> AsyncGenerator[Piece, None]:
        yield Piece((65,))


@pytest.mark.parametrize("engine", [_Quitting(), FailingEngine(is_after_token=True)], ids=["quits", "breaks"])
async def test_broken_answer_is_aborted_and_booked(engine: Any) -> None:
    """Never a clean end, never a second try; the token that was made is on the line (litellm PR#32835, smg PR#1682)."""
    async with watched(engine) as server:
        failure = await failure_of(server.stub.Converse(iter(turn("Hello."))))
        assert (failure.code, failure.reason) == (grpc.StatusCode.ABORTED, "ENGINE_BROKEN")
        assert len(engine.requests) == 1
        assert server.meter.totals("local").output_tokens == 1


class _Mistaken(TalkingEngine):
    """Says that it is not there after it has spoken."""

    async def _talk(self, request: EngineRequest) -> AsyncGenerator[Piece, None]:
        yield Piece((65,))
        raise EngineUnavailable("it was there")


async def test_an_engine_that_has_spoken_is_not_tried_again_whatever_it_says() -> None:
    """A second try would repeat text, even where the adapter calls it safe (litellm PR#32835)."""
    async with watched(_Mistaken()) as server:
        await failure_of(server.stub.Converse(iter(turn("Hello."))))
        assert len(server.engine.requests) == 1
        assert server.meter.totals("local").output_tokens == 1


async def test_one_attempt_means_one() -> None:
    """The setting is kept: no second try where none is wanted."""
    async with watched(FailingEngine(failures=9), settings=TurnSettings(answer=AnswerSettings(attempts=1))) as server:
        failure = await failure_of(server.stub.Converse(iter([setup(), text("Hello."), END])))
        assert (failure.code, failure.reason) == (grpc.StatusCode.UNAVAILABLE, "ENGINE_UNAVAILABLE")
        assert len(server.engine.requests) == 1


async def test_a_caller_of_one_word_at_a_time_gets_the_same_prompt() -> None:
    """Where text is cut is the network's business, not the model's."""
    async with watched() as server:
        await failure_free(server, [text("One. Two. Three.")])
        await failure_free(server, [*(text(letter, last=False) for letter in "One. Two. Three"), text(".")])
        assert server.engine.prompts[0] == server.engine.prompts[1]


async def failure_free(server: Any, input_steps: list[pb.ConverseRequest]) -> None:
    await next_event(server.stub.Converse(iter([setup(), *input_steps, END])), "finished")
