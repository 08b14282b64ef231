"""Connections to the gRPC port: how many, how long, and how they end while turns run."""

import asyncio
import ssl
import threading
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from headworks.server.rpc.settings import RpcSettings
from headworks.server.turn.record import Outcome
from headworks.v1.turn_pb2_grpc import TurnServiceStub
from tests.fakes.relay import Relay
from tests.server.certificates import make_certificate
from tests.server.edge import Edge, failure_of, turn
from tests.server.rpc.frames import raw_peer
from tests.server.rpc.watching import PATIENCE_SECONDS, as_normalize, next_event, settled, until, watched


async def running_turn(server: Edge) -> Any:
    """A turn that waits for its first token."""
    server.engine.may_talk.clear()
    call = server.stub.Converse(iter(turn("Hello.")))
    await until(lambda: server.engine.load().running == 1)
    return call


async def peers_let_in(server: Edge, count: int, peers: AsyncExitStack) -> list[bool]:
    """Connect so often; say who was let in."""
    connected = [await peers.enter_async_context(raw_peer(server.server.port)) for _ in range(count)]
    return [await peer.is_let_in() for peer in connected]


async def test_a_connection_too_many_is_closed_and_the_others_go_on() -> None:
    """Open sockets do not grow with the number of peers, and a place comes back with its connection (litellm#9178)."""
    async with watched(rpc=RpcSettings(port=0, max_connections=3)) as server, AsyncExitStack() as peers:
        call = await running_turn(server)
        assert await peers_let_in(server, 4, peers) == [True, True, False, False]
        await peers.aclose()
        assert await peers_let_in(server, 1, peers) == [True]
        server.engine.may_talk.set()
        await next_event(call, "finished")


@pytest.mark.parametrize("kind", ["in clear", "before TLS", "after TLS"])
async def test_a_half_open_handshake_is_dropped_and_gives_its_place_back(kind: str, tmp_path: Path) -> None:
    """Whoever connects and says nothing cannot keep the others out for long."""
    made = make_certificate(tmp_path)
    rpc = RpcSettings(port=0, max_connections=2, handshake_seconds=0.3)
    tls: ssl.SSLContext | None = None
    if kind != "in clear":
        rpc = replace(rpc, certificate_file=made.file, certificate_key_file=made.key_file)
        tls = ssl.create_default_context(cafile=str(made.file))
        tls.set_alpn_protocols(["h2"])
    async with watched(rpc=rpc) as server:
        port = server.server.port
        own = tls if kind == "after TLS" else None
        async with raw_peer(port, tls=own, greets=False) as first, raw_peer(port, tls=own, greets=False) as second:
            for peer in (first, second):
                await peer.goodbye()
            async with raw_peer(port, tls=tls) as late:
                assert await late.is_let_in()


async def test_an_idle_connection_is_closed_and_the_next_turn_opens_another() -> None:
    """What nobody uses costs nobody a descriptor, and a client of gRPC does not notice."""
    async with watched(rpc=RpcSettings(port=0, connection_idle_seconds=0.2)) as server:
        async with raw_peer(server.server.port) as peer:
            assert await peer.goodbye() == "connection idle"
        await server.still_works()
        await until(lambda: server.channel.get_state() is grpc.ChannelConnectivity.IDLE)
        await server.still_works()


async def test_a_connection_with_a_silent_turn_is_not_idle() -> None:
    """A model that thinks for longer than an idle connection may last keeps its caller (aigw PR#2549)."""
    async with watched(rpc=RpcSettings(port=0, connection_idle_seconds=0.2)) as server:
        call = await running_turn(server)
        async with raw_peer(server.server.port) as peer:
            assert await peer.goodbye() == "connection idle"  # so long, at least, the turn was silent
        server.engine.may_talk.set()
        await next_event(call, "finished")


async def test_an_aged_connection_finishes_its_turn_and_takes_no_new_one() -> None:
    """A client connects again with its next call, and loses nothing of the one that runs (smg PR#1172)."""
    rpc = RpcSettings(port=0, connection_age_seconds=0.3, connection_age_grace_seconds=60)
    async with watched(rpc=rpc) as server, Relay(server.server.port).listening() as relay, relay.channel() as channel:
        server.stub = TurnServiceStub(channel)
        call = await running_turn(server)
        await until(lambda: channel.get_state() is grpc.ChannelConnectivity.IDLE)
        another = server.stub.Converse(iter(turn("Hello.")))
        await until(lambda: server.engine.load().running == 2)
        assert relay.opened == 2
        server.engine.may_talk.set()
        for each in (call, another):
            await next_event(each, "finished")


async def test_a_turn_past_the_grace_of_its_connection_is_cut_and_the_engine_told() -> None:
    """The age is a bound, not a wish: what does not end in its grace is ended."""
    rpc = RpcSettings(port=0, connection_age_seconds=0.2, connection_age_grace_seconds=0.2)
    async with watched(rpc=rpc) as server:
        call = await running_turn(server)
        assert (await failure_of(call)).code is grpc.StatusCode.UNAVAILABLE
        await settled(server)
        assert [record.outcome for record in server.recorder.finished] == [Outcome.CANCELLED]
        server.engine.may_talk.set()
        await server.still_works()


async def test_calls_that_a_blocked_loop_cannot_take_up_are_bounded() -> None:
    """One more ends at once and bare; each method has its own, and what was kept is answered (grpc/grpc#205)."""
    rpc = RpcSettings(port=0, max_accepts=2, max_pending_calls=5, max_connection_streams=200)
    calls, kept = 40, 5 + 2 + 2  # the core counts one more, and grpc.aio asks for one more
    async with watched(rpc=rpc) as server:
        await server.still_works()
        with grpc.insecure_channel(f"127.0.0.1:{server.server.port}") as channel:
            stub, ended = TurnServiceStub(channel), threading.Semaphore(0)
            converse = [stub.Converse(iter(turn("Hello."))) for _ in range(calls)]
            normalize = [stub.Normalize.future(iter(as_normalize(turn("Hello.")))) for _ in range(calls)]
            for call in (*converse, *normalize):
                call.add_done_callback(lambda _: ended.release())
            for _ in range(2 * (calls - kept)):  # the loop stands still meanwhile
                assert ended.acquire(timeout=PATIENCE_SECONDS)
            bare = [(call.code(), call.trailing_metadata()) for call in (*converse, *normalize) if call.done()]
            assert set(bare) == {(grpc.StatusCode.CANCELLED, ())}
            await asyncio.gather(*(asyncio.to_thread(_read, call) for call in converse))
            for some in (converse, normalize):
                answered = [call for call in some if await asyncio.to_thread(call.code) is grpc.StatusCode.OK]
                assert 5 <= len(answered) <= kept


def _read(call: Any) -> None:
    with suppress(grpc.RpcError):
        for _ in call:
            pass


@pytest.mark.parametrize(
    "name", ["max_connections", "max_pending_calls", "handshake_seconds", "connection_age_seconds"]
)
def test_a_limit_of_nothing_is_refused(name: str) -> None:
    """gRPC would take some zeros for no limit at all."""
    with pytest.raises(ValueError, match=f"{name} must be more than 0"):
        RpcSettings(**{name: 0})
