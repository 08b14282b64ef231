"""Calls are taken up from gRPC's core as they come."""

import asyncio

import pytest

from headworks.server.rpc import acceptors
from headworks.server.rpc.settings import RpcSettings
from tests.server.edge import edge, setup, turn
from tests.server.rpc.watching import until, watched

CALLS = 100


@pytest.mark.parametrize("max_accepts", [1, 32])
async def test_all_calls_of_one_connection_are_seen_and_answered(max_accepts: int) -> None:
    """However many are asked for at once, none is lost, and none waits unseen once the loop is free."""
    async with watched(rpc=RpcSettings(port=0, max_accepts=max_accepts, max_connection_streams=4 * CALLS)) as server:
        silent = [server.stub.Converse() for _ in range(CALLS)]
        for call in silent:
            await call.write(setup())
        await until(lambda: len(server.admission.lobby) == CALLS)
        for call in silent:
            call.cancel()
        answers = await asyncio.gather(*(_events(server.stub.Converse(iter(turn("Hello.")))) for _ in range(CALLS)))
        assert {events[-1] for events in answers} == {"finished"}


async def test_a_grpc_that_has_changed_inside_is_still_served(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What is not public may go; then calls are taken up as grpc.aio does, and the log says so."""
    monkeypatch.setattr(acceptors, "_PRIVATE", ("_gone",))
    async with edge() as server:
        await server.still_works()
    assert "rpc.single_acceptor" in caplog.messages


async def _events(call: object) -> list[str]:
    return [reply.WhichOneof("event") async for reply in call]  # type: ignore[attr-defined]  # a grpc.aio call
