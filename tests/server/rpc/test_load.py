"""Hundreds of turns at once that end at every point of a turn: nothing is left, and the books are the engine's."""

import asyncio
import os
from collections.abc import AsyncGenerator
from pathlib import Path

import grpc
import pytest

from headworks.server.engine.engine import EngineRequest, Piece
from headworks.server.flow.settings import FlowSettings, LimitSettings, LineSettings
from headworks.server.rpc.settings import RpcSettings
from headworks.server.turn.settings import TurnSettings
from headworks.v1 import turn_pb2 as pb
from tests.fakes.engines import TalkingEngine
from tests.fakes.judges import SilentJudge
from tests.fakes.relay import Relay
from tests.server.edge import END, Edge, failure_of, held_open, setup, text, turn
from tests.server.rpc.watching import next_event, settled, until, watched

HUNDREDS = 240
WIDE = RpcSettings(port=0, max_connection_streams=2 * HUNDREDS)
AT_ONCE = LimitSettings(first_turns=1000)
"""Nobody adapts the limit here; `max_turns` holds."""
LONG_LINE = LineSettings(max_waiting=2 * HUNDREDS, interactive_seconds=600.0, standing_seconds=600.0)
CROWD = FlowSettings(max_turns=40, max_tenant_turns=40, max_peer_turns=40, line=LONG_LINE, limit=AT_ONCE)
"""Forty run, and the others wait for as long as a test takes."""
ROOM = FlowSettings(max_turns=500, max_tenant_turns=500, max_peer_turns=500, limit=AT_ONCE)
"""Nobody waits."""


class CountingEngine(TalkingEngine):
    """Gives way to other turns after each token, and counts what it has given out."""

    def __init__(self, tokens: int) -> None:
        super().__init__(tokens)
        self.given = 0

    async def _talk(self, request: EngineRequest) -> AsyncGenerator[Piece, None]:
        async for piece in super()._talk(request):
            self.given += len(piece.token_ids)
            yield piece
            await asyncio.sleep(0)


def open_sockets() -> int:
    """Sockets of this process, which holds client and server."""
    return sum(os.readlink(link).startswith("socket:") for link in Path("/proc/self/fd").iterdir() if link.is_symlink())


async def leave_at_every_phase(server: Edge, number: int) -> None:
    """Open a turn, and leave it at the phase that its number names."""
    phase = number % 6
    steps = [setup(), text("Hello there. And", last=False), text(" so on."), END]
    call = server.stub.Converse(held_open(steps[: min(phase, 4)]), timeout=60)
    if phase >= 4:
        await next_event(call, "delta" if phase == 4 else "finished")
    else:
        await asyncio.sleep(0.02 * (number % 11))
    call.cancel()


async def test_hundreds_that_leave_at_every_phase_leave_nothing() -> None:
    """Silent, in line, in mid input, before and in the answer, at its end (vllm#54947, bifrost#828, triton PR#8078)."""
    engine = CountingEngine(tokens=200)
    async with watched(engine, flow=CROWD, rpc=WIDE) as server:
        await asyncio.gather(*(leave_at_every_phase(server, number) for number in range(HUNDREDS)))
        await settled(server)
        totals = server.meter.totals("local")
        assert totals.input_tokens == sum(len(prompt) for prompt in engine.prompts)
        assert totals.output_tokens == engine.given > 0
        await server.still_works()


async def test_hundreds_cancelled_in_line_and_running_make_room_at_once() -> None:
    """Permits come back from all of them, whichever way the cancels come in (smg PR#2064)."""
    async with watched(flow=CROWD, rpc=WIDE) as server:
        server.engine.may_talk.clear()
        calls = [server.stub.Converse(iter(turn("Hello."))) for _ in range(HUNDREDS)]
        await until(lambda: (server.admission.held, server.admission.waiting) == (40, HUNDREDS - 40))
        for call in calls:
            call.cancel()
        await settled(server)
        assert server.engine.load().running == 0
        server.engine.may_talk.set()
        await server.still_works()


async def test_a_connection_that_goes_takes_hundreds_of_turns_with_it() -> None:
    """Packets vanish, nobody says goodbye: the keepalive frees the engine, and others go on (grpc/grpc#11157)."""
    rpc = RpcSettings(port=0, max_connection_streams=500, keepalive_seconds=1.0, keepalive_timeout_seconds=2.0)
    async with watched(flow=CROWD, rpc=rpc) as server, Relay(server.server.port).listening() as relay:
        server.engine.may_talk.clear()
        async with relay.channel() as channel:
            converse = channel.stream_stream(
                "/headworks.v1.TurnService/Converse",
                request_serializer=pb.ConverseRequest.SerializeToString,
                response_deserializer=pb.ConverseResponse.FromString,
            )
            calls = [converse(iter(turn("Hello."))) for _ in range(100)]
            await until(lambda: (server.admission.held, server.admission.waiting) == (40, 60))
            relay.is_lossy = True
            await until(lambda: not server.admission.held)
            await settled(server)
            for call in calls:
                call.cancel()
        server.engine.may_talk.set()
        await server.still_works()


async def test_open_sockets_do_not_grow_with_a_thousand_time_outs() -> None:
    """Callers whose deadline passes leave no connection behind them (litellm#9178)."""
    async with watched(rpc=WIDE, flow=ROOM) as server:
        await server.still_works()
        before = open_sockets()
        server.engine.may_talk.clear()
        for _ in range(5):
            calls = [server.stub.Converse(iter(turn("Hello.")), timeout=1) for _ in range(200)]
            codes = await asyncio.gather(*(call.code() for call in calls))
            assert set(codes) == {grpc.StatusCode.DEADLINE_EXCEEDED}
        await settled(server)
        assert open_sockets() <= before
        server.engine.may_talk.set()
        await server.still_works()


@pytest.mark.parametrize("kind", ["judge", "engine"])
async def test_a_dead_part_holds_hundreds_no_longer_than_their_limit(kind: str) -> None:
    """A judge or an engine that is silent for all of them blocks nobody for good (production-stack#749)."""
    judge = SilentJudge() if kind == "judge" else None
    settings = TurnSettings(max_seconds=4.0)
    async with watched(None, judge, rpc=WIDE, flow=ROOM, settings=settings) as server:
        server.engine.may_talk.clear()
        failures = await asyncio.gather(*(failure_of(server.stub.Converse(iter(turn("Hi.")))) for _ in range(200)))
        assert {failure.metadata["limit"] for failure in failures} == {"turn.max_seconds"}
        await settled(server)


async def test_a_long_thought_keeps_its_stream() -> None:
    """While the engine is silent, pings keep both directions alive, and nobody is told to go away (aigw PR#2549)."""
    rpc = RpcSettings(port=0, keepalive_seconds=0.2, keepalive_timeout_seconds=0.5, min_client_ping_seconds=0.05)
    async with watched(rpc=rpc) as server, Relay(server.server.port).listening() as relay:
        pings = (("grpc.keepalive_time_ms", 100), ("grpc.http2.max_pings_without_data", 0))
        async with relay.channel(*pings) as channel:
            converse = channel.stream_stream(
                "/headworks.v1.TurnService/Converse",
                request_serializer=pb.ConverseRequest.SerializeToString,
                response_deserializer=pb.ConverseResponse.FromString,
            )
            server.engine.may_talk.clear()
            call = converse(iter(turn("Hello.")))
            await until(lambda: server.engine.load().running == 1)
            silent_from = relay.carried_bytes
            await until(lambda: relay.carried_bytes > silent_from + 20 * 17)  # twenty pings, of 17 bytes each
            server.engine.may_talk.set()
            await next_event(call, "finished")
            assert relay.opened == 1
