"""Callers that read slowly or not at all: their own turn waits or ends, and nobody else's."""

import asyncio
from collections.abc import AsyncGenerator

from headworks.server.engine.engine import EngineRequest, Piece
from headworks.server.rpc.settings import RpcSettings
from headworks.v1 import turn_pb2 as pb
from tests.fakes.engines import TalkingEngine
from tests.server.edge import failure_of, setup, turn
from tests.server.rpc.watching import next_event, settled, until, watched

NARROW = (
    *(("grpc.http2.lookahead_bytes", 1024), ("grpc.http2.bdp_probe", 0)),
    ("grpc.use_local_subchannel_pool", 1),
)
"""A client that tells the server to send little ahead of what it reads."""
PIECE_TOKENS = 10_000
"""Some 20 KiB on the wire, so that a few fill every window on the way."""
MAX_PIECES = 1_000


class EndlessEngine(TalkingEngine):
    """Makes large pieces, as many as it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[str, int] = {}
        """Pieces, by turn."""

    async def _talk(self, request: EngineRequest) -> AsyncGenerator[Piece, None]:
        for number in range(1, MAX_PIECES):
            await asyncio.sleep(0)
            self.made[request.turn_id] = number
            yield Piece((65,) * PIECE_TOKENS)


async def test_slow_readers_cost_the_others_nothing_and_end_by_name() -> None:
    """Twenty that do not read are cut by their own limit, while another on the same connection gets its answer."""
    engine = EndlessEngine()
    async with watched(engine, options=NARROW, rpc=RpcSettings(port=0, send_seconds=0.5)) as server:
        slow = [server.stub.Converse(iter(turn("Hello."))) for _ in range(20)]
        await until(lambda: server.engine.load().running == len(slow))
        await next_event(server.stub.Converse(iter(turn("Hello."))), "delta")
        await until(lambda: len(server.recorder.finished) >= len(slow))
        failures = await asyncio.gather(*(failure_of(call) for call in slow))
        assert {failure.metadata["limit"] for failure in failures} == {"rpc.send_seconds"}
        await settled(server)


async def test_slow_readers_do_not_hold_up_a_new_turn() -> None:
    """A caller that reads is answered while others do not, before they are cut."""
    engine = EndlessEngine()
    async with watched(engine, options=NARROW, rpc=RpcSettings(port=0, send_seconds=60)) as server:
        slow = [server.stub.Converse(iter(turn("Hello."))) for _ in range(20)]
        await until(lambda: len(engine.made) == len(slow) and all(made > 100 for made in engine.made.values()))
        answer = server.stub.Converse(iter(turn("Hello.")))
        for _ in range(3):
            await next_event(answer, "delta")
        for call in (*slow, answer):
            call.cancel()
        await settled(server)


async def test_an_answer_that_is_read_late_is_whole_and_holds_no_engine() -> None:
    """What waits for a slow reader is at most the answer's own ceiling, and the engine does not wait with it."""
    engine = TalkingEngine(tokens=5_000)
    async with watched(engine, options=NARROW, rpc=RpcSettings(port=0, send_seconds=60)) as server:
        steps = [setup(generation=pb.Generation(max_output_tokens=2048)), *turn("Hello.")[1:]]
        call = server.stub.Converse(iter(steps))
        await until(lambda: engine.closed)
        replies = [reply async for reply in call]
        assert sum(len(reply.delta.token_ids) for reply in replies) == 2048
        assert [reply.sequence for reply in replies] == list(range(1, len(replies) + 1))
