"""The port itself: health before serving, reflection, stopping, bounds on a connection, peers that fall silent."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2

from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.identity.credentials import CredentialIdentifier
from headworks.policy.identity.settings import CredentialSettings
from headworks.server.clock import SystemClock
from headworks.server.flow.errors import Draining
from headworks.server.rpc.server import SERVICE_NAME, RpcServer
from headworks.server.rpc.settings import RpcSettings
from headworks.server.turn.errors import TurnTimedOut
from headworks.server.turn.steps import EndOfInput, Event, Step
from headworks.server.visit.visit import Visit
from headworks.v1.turn_pb2_grpc import TurnServiceStub
from tests.server.edge import Edge, edge, failure_of, held_open, setup, text, turn
from tests.server.rpc.frames import ACK, Kind, raw_peer
from tests.server.rpc.watching import as_normalize, next_event, settled, until, watched

NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


def another(server: Edge, port: int) -> RpcServer:
    """A second server around the first one's turns."""
    return RpcServer(RpcSettings(port=port), server.runner, CredentialIdentifier(CredentialSettings()), SystemClock())


async def test_a_started_port_says_not_serving_until_it_is_told() -> None:
    """Whoever connects while models load is told to wait, by the server's name and by the service's."""
    async with edge() as running:
        server = another(running, port=0)
        await server.start()
        async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel:
            for service in ("", SERVICE_NAME):
                reply = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=service))
                assert reply.status == NOT_SERVING
        await server.stop(0)


async def test_a_taken_port_is_an_os_error() -> None:
    """Two gateways on one port would share its callers by chance."""
    async with edge() as running:
        with pytest.raises(OSError, match=f"127.0.0.1:{running.server.port} cannot be taken"):
            await another(running, port=running.server.port).start()


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
async def test_reflection_describes_every_service_that_it_lists(version: str) -> None:
    """What `buf curl` and `grpcurl` begin with: they ask for v1 first (grpc/grpc#38576)."""
    ask, answer = reflection_pb2.ServerReflectionRequest, reflection_pb2.ServerReflectionResponse

    async with watched() as server:
        call = server.channel.stream_stream(
            f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
            request_serializer=ask.SerializeToString,
            response_deserializer=answer.FromString,
        )
        (listed,) = [reply async for reply in call(iter([ask(list_services="")]))]
        names = [service.name for service in listed.list_services_response.service]
        described = [reply async for reply in call(iter([ask(file_containing_symbol=name) for name in names]))]
    reflections = {f"grpc.reflection.{each}.ServerReflection" for each in ("v1", "v1alpha")}
    assert set(names) == {SERVICE_NAME, "grpc.health.v1.Health"} | reflections
    for name, reply in zip(names, described, strict=True):
        files = [FileDescriptorProto.FromString(data) for data in reply.file_descriptor_response.file_descriptor_proto]
        assert name in {f"{file.package}.{service.name}" for file in files for service in file.service}


async def test_a_turn_that_ends_well_carries_its_id_too() -> None:
    """A client that keeps only trailers can still quote the turn."""
    async with watched() as server:
        call = server.stub.Converse(iter(turn("Hello.")))
        replies = [reply async for reply in call]
        assert dict(await call.trailing_metadata())["headworks-turn-id"] == replies[0].accepted.turn_id


class HurriedRunner:
    """Keeps how long each turn may take, and takes none."""

    def __init__(self) -> None:
        self.deadlines: list[float | None] = []

    def knock(self, *_: object) -> None:
        """Let everybody in."""

    async def converse(self, *_: object, deadline_seconds: float | None, **__: object) -> None:
        self.deadlines.append(deadline_seconds)
        raise Draining

    normalize = converse


async def test_a_callers_deadline_is_the_turns() -> None:
    """Both calls tell the turn what is left of it, and nothing where there is none."""
    runner = HurriedRunner()
    server = RpcServer(RpcSettings(port=0), runner, CredentialIdentifier(CredentialSettings()), SystemClock())  # type: ignore[arg-type]
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        stub: Any = TurnServiceStub(channel)
        for timeout in (30, None):
            assert (await failure_of(stub.Converse(iter(turn("Hello.")), timeout=timeout))).reason == "DRAINING"
            with pytest.raises(grpc.aio.AioRpcError):
                await stub.Normalize(iter(as_normalize(turn("Hello."))), timeout=timeout)
    await server.stop(0)
    timed = runner.deadlines[:2]
    assert all(left is not None and 0 < left < 31 for left in timed)  # gRPC rounds up
    assert runner.deadlines[2:] == [None, None]


async def test_a_turn_past_its_callers_deadline_says_so() -> None:
    """Not the server's own limit, which is longer."""

    async def silent() -> AsyncIterator[Step]:
        await asyncio.Event().wait()
        yield EndOfInput()

    async with watched() as server:
        visit = Visit(Caller("t", "s", AuthenticatedBy.LOOPBACK), is_encrypted=False, is_loopback=True)
        with pytest.raises(TurnTimedOut) as late:
            await server.runner.converse(visit, silent(), nowhere, turn_id="turn-1", deadline_seconds=0.01)
        assert late.value.limit == "deadline"


async def nowhere(event: Event) -> None:
    """A caller who is told nothing."""


async def test_stop_waits_for_a_running_call_and_no_longer() -> None:
    """Within its grace a call ends by itself; after it, it is cut and its turn with it."""
    async with watched() as server:
        server.engine.may_talk.clear()
        call = server.stub.Converse(iter(turn("Hello.")))
        await until(lambda: server.engine.load().running == 1)
        stopping = asyncio.create_task(server.server.stop(30))
        await asyncio.sleep(0.05)
        server.engine.may_talk.set()
        await next_event(call, "finished")
        await stopping
    async with watched() as server:
        server.engine.may_talk.clear()
        call = server.stub.Converse(iter(turn("Hello.")))
        await until(lambda: server.engine.load().running == 1)
        await server.server.stop(0)
        await settled(server)
        assert (await failure_of(call)).code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


async def test_calls_over_a_connections_limit_wait_in_the_client() -> None:
    """One peer cannot hold more than so many turns; the next one begins when another ends."""
    async with watched(rpc=RpcSettings(port=0, max_connection_streams=2)) as server:
        calls = [server.stub.Converse(held_open([setup(), text("Hello", last=False)])) for _ in range(2)]
        await until(lambda: server.admission.held == 2)
        third = server.stub.Converse(iter(turn("Hello.")))
        await asyncio.sleep(0.2)
        assert len(server.recorder.started) == 2
        calls[0].cancel()
        await next_event(third, "finished")
        calls[1].cancel()
        await settled(server)


async def pings_until_let_go(port: int, answered_pings: int) -> int:
    """Connect without a call, answer so many pings and then none; return how many came until the end."""
    pings = 0
    async with raw_peer(port) as peer:
        while (frame := await peer.next_frame()) is not None:
            if frame.kind == Kind.PING and not frame.flags & ACK:
                pings += 1
                if pings <= answered_pings:
                    peer.answer(frame)
    return pings


@pytest.mark.parametrize("answered_pings", [0, 5])
async def test_a_silent_connection_without_a_call_is_let_go(answered_pings: int) -> None:
    """A peer that answers pings keeps it, for as long as it does; one that stops is given up, at the first or later."""
    rpc = RpcSettings(port=0, keepalive_seconds=0.2, keepalive_timeout_seconds=0.3)
    async with watched(rpc=rpc) as server:
        async with asyncio.timeout(30):
            assert await pings_until_let_go(server.server.port, answered_pings) > answered_pings
        await server.still_works()
