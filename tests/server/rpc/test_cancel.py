"""A caller that leaves, at every point of a turn: the engine, the permit and the record are closed."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import grpc
import pytest

from headworks.policy.question import Stage
from headworks.server.flow.settings import FlowSettings
from headworks.server.rpc.servicer import _steps
from headworks.server.turn.record import Outcome
from headworks.v1 import turn_pb2 as pb
from headworks.v1.turn_pb2_grpc import TurnServiceStub
from tests.fakes.engines import TalkingEngine
from tests.fakes.judges import SilentJudge
from tests.server.edge import END, Edge, held_open, setup, text, turn
from tests.server.rpc.watching import as_normalize, next_event, settled, until, watched

KINDS = ("Converse", "Normalize")
LONG = setup(generation=pb.Generation(max_output_tokens=2048))
Reach = Callable[[Edge, Any], Awaitable[None]]


async def send(call: Any, *steps: pb.ConverseRequest) -> None:
    is_normalize = isinstance(call, grpc.aio.StreamUnaryCall)
    for step in as_normalize([*steps]) if is_normalize else steps:
        await call.write(step)


async def before_setup(server: Edge, call: Any) -> None:
    await call.wait_for_connection()
    await until(lambda: server.recorder.started)


async def after_accepted(server: Edge, call: Any) -> None:
    await send(call, LONG)
    await until(lambda: (Stage.OPEN, True) in server.recorder.verdicts)


async def mid_part(server: Edge, call: Any) -> None:
    await send(call, LONG, text("One sentence. And the", last=False))
    await until(lambda: (Stage.INPUT, True) in server.recorder.verdicts)


async def mid_prefill(server: Edge, call: Any) -> None:
    await mid_part(server, call)
    await until(lambda: server.engine.prompts and server.engine.prompts[-1])


async def before_first_token(server: Edge, call: Any) -> None:
    server.engine.may_talk.clear()
    await send(call, LONG, text("Hello."), END)
    await until(lambda: server.engine.prompts and server.engine.prompts[-1])


async def mid_answer(server: Edge, call: Any) -> None:
    await send(call, LONG, text("Hello."), END)
    await next_event(call, "delta")


PHASES = [
    *(("Converse", reach) for reach in (before_setup, after_accepted, mid_part, mid_prefill)),
    *(("Converse", reach) for reach in (before_first_token, mid_answer)),
    *(("Normalize", reach) for reach in (before_setup, after_accepted, mid_part)),
]


@pytest.mark.parametrize(("kind", "reach"), PHASES, ids=[f"{kind}-{reach.__name__}" for kind, reach in PHASES])
async def test_cancel_at_a_reached_phase(kind: str, reach: Reach) -> None:
    """The phase is waited for, not slept for; the record says cancelled, never a clean end (sglang PR#11399)."""
    async with watched(TalkingEngine(tokens=2048, pauses=True)) as server:
        call = getattr(server.stub, kind)()
        async with asyncio.timeout(10):
            await reach(server, call)
        call.cancel()
        await settled(server)
        assert [record.outcome for record in server.recorder.finished] == [Outcome.CANCELLED]


@pytest.mark.parametrize("kind", KINDS)
async def test_cancel_at_the_finish(kind: str) -> None:
    """A cancel that races the last event frees nothing twice, and the next turn is answered (triton PR#8078)."""
    async with watched() as server:
        for _ in range(20):
            call = getattr(server.stub, kind)()
            await send(call, *turn("Hello."))
            if kind == "Converse":
                await next_event(call, "finished")
            else:
                await until(lambda: (Stage.INPUT, True) in server.recorder.verdicts)
            call.cancel()
        await settled(server)
        await server.still_works()


async def test_many_cancels_at_no_chosen_moment() -> None:
    """What a chosen phase misses, eighty unchosen ones may hit (triton PR#8078)."""
    async with watched() as server:

        async def leave_after(rounds: int) -> None:
            call = server.stub.Converse(iter([setup(), text("Hello. "), text("There."), END]))
            for _ in range(rounds):
                await asyncio.sleep(0)
            call.cancel()

        await asyncio.gather(*(leave_after(number * 3) for number in range(80)))
        await settled(server)
        await server.still_works()


async def test_closed_connection_ends_all_its_turns() -> None:
    """The turns of a connection go with it; those of another one stay (vllm#54947)."""
    async with watched() as server:
        server.engine.may_talk.clear()
        own = (("grpc.use_local_subchannel_pool", 1),)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{server.server.port}", options=own) as channel:
            stub: Any = TurnServiceStub(channel)
            calls = [stub.Converse(iter(turn("Hello."))) for _ in range(5)]
            staying = server.stub.Converse(iter(turn("Hello.")))
            await until(lambda: server.engine.load().running == len(calls) + 1)
        await until(lambda: server.engine.load().running == 1, 1.0)
        server.engine.may_talk.set()
        await next_event(staying, "finished")


async def test_cancelled_answer_is_booked() -> None:
    """The tokens made until the cancel are on the tenant's line (litellm#14457, litellm#17364)."""
    async with watched(TalkingEngine(tokens=2048, pauses=True)) as server:
        call = server.stub.Converse()
        await mid_answer(server, call)
        call.cancel()
        await settled(server)
        totals = server.meter.totals("local")
        assert (totals.turns, totals.output_tokens) == (1, 1)
        assert totals.input_tokens == len(server.engine.prompts[0])


@pytest.mark.parametrize("kind", KINDS)
async def test_cancel_while_policy_is_silent(kind: str) -> None:
    """Waiting for a judge is no reason to stay (bifrost#828)."""
    judge = SilentJudge()
    async with watched(None, judge) as server:
        call = getattr(server.stub, kind)()
        await send(call, setup())
        async with asyncio.timeout(10):
            await judge.asked.wait()
        call.cancel()
        await settled(server)
        assert server.recorder.finished[0].outcome is Outcome.CANCELLED


@pytest.mark.parametrize("kind", KINDS)
async def test_cancel_in_the_line_for_a_permit(kind: str) -> None:
    """Whoever leaves the line takes no permit with them (triton PR#8078)."""
    async with watched(flow=FlowSettings(max_turns=1)) as server:
        first, second = server.stub.Converse(), None
        await send(first, setup(), text("Hello", last=False))
        await until(lambda: server.admission.held)
        second = getattr(server.stub, kind)()
        await send(second, setup(), text("Hello", last=False))
        await until(lambda: server.admission.waiting)
        second.cancel()
        await until(lambda: not server.admission.waiting)
        assert server.admission.held == 1
        first.cancel()
        await settled(server)
        await server.still_works()


async def test_twice_the_limit_cancelled_then_a_turn_passes_at_once() -> None:
    """Permits come back from turns that run and from turns in line (smg PR#2064)."""
    async with watched(flow=FlowSettings(max_turns=2)) as server:
        calls = [server.stub.Converse(held_open([setup(), text("Hello", last=False)])) for _ in range(4)]
        await until(lambda: (server.admission.held, server.admission.waiting) == (2, 2))
        for call in calls:
            call.cancel()
        await settled(server)
        await server.still_works()


class _CancelledCall:
    """A call as gRPC shows it once it was cancelled."""

    def cancelled(self) -> bool:
        return True


async def test_an_end_of_messages_after_a_cancel_is_no_end_of_input() -> None:
    """gRPC ends the messages of both alike; half a question must not be answered as the whole one (triton PR#8078)."""

    async def messages() -> AsyncGenerator[pb.ConverseRequest, None]:
        yield text("Hello.")

    steps = _steps(messages(), _CancelledCall())  # type: ignore[arg-type]  # all that is asked of a context
    assert await anext(steps)
    with pytest.raises(asyncio.CancelledError):
        await anext(steps)
