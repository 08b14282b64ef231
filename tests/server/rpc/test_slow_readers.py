"""Callers that read slowly or not at all: their own turn waits or ends, and nobody else's."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest

from headworks.server.engine.engine import EngineRequest, Piece
from headworks.server.rpc.settings import RpcSettings
from headworks.v1 import turn_pb2 as pb
from headworks.v1.turn_pb2_grpc import TurnServiceStub
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


REPOSITORY = Path(__file__).resolve().parents[3]
READERS = 20
ANSWER_TOKENS = 20_000
TOKEN_BYTES = 16
"""Some of what a token that waits may cost: a place in a list. A message for each would cost hundreds of bytes."""
CALL_BYTES = 300_000
"""What a call may hold beside its tokens: gRPC's buffers, and a message on its way."""
SERVER = """
import asyncio, gc, resource, sys
from pathlib import Path
from headworks.server.rpc.settings import RpcSettings
from headworks.server.turn.settings import AnswerSettings, TurnSettings
from tests.server.edge import edge
from tests.server.rpc.test_load import CountingEngine

async def main(tokens):
    engine, settings = CountingEngine(tokens), TurnSettings(answer=AnswerSettings(max_output_tokens=tokens))
    engine._max_model_tokens = 2 * tokens
    async with edge(engine, settings=settings, rpc=RpcSettings(port=0, send_seconds=600)) as server:
        print(server.server.port, flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            gc.collect()
            resident = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
            print(engine.given, len(engine.closed), resident, flush=True)

asyncio.run(main(int(sys.argv[1])))
"""
"""A server in a process of its own. For each line it says what it made, how many answers ended, and what it holds."""


@dataclass(slots=True)
class ServerProcess:
    """A running `SERVER`."""

    process: asyncio.subprocess.Process
    stub: Any

    async def made_ended_resident(self) -> tuple[int, int, int]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(b"\n")
        made, ended, resident = (await self.process.stdout.readline()).split()
        return int(made), int(ended), int(resident)

    async def read_slowly(self, ended_before: int) -> int:
        """Let callers read a message a second until all of their answers are made; return what is held then."""
        steps = [setup(generation=pb.Generation(max_output_tokens=ANSWER_TOKENS)), *turn("Hello.")[1:]]
        calls = [self.stub.Converse(iter(steps)) for _ in range(READERS)]
        ended = resident = 0
        while ended < ended_before + READERS:
            await asyncio.gather(*(call.read() for call in calls))
            await asyncio.sleep(1)
            _, ended, resident = await self.made_ended_resident()
        for call in calls:
            call.cancel()
        return resident


@asynccontextmanager
async def server_process() -> AsyncIterator[ServerProcess]:
    """Start one, and end it."""
    pipe = asyncio.subprocess.PIPE
    path = os.pathsep.join((str(REPOSITORY), *sys.path))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", SERVER, str(ANSWER_TOKENS)),
        stdin=pipe,
        stdout=pipe,
        env=os.environ | {"PYTHONPATH": path},
    )
    try:
        assert process.stdout is not None
        port = int(await process.stdout.readline())
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=NARROW) as channel:
            yield ServerProcess(process, TurnServiceStub(channel))
        assert process.stdin is not None
        process.stdin.close()
        assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.slow
async def test_what_slow_readers_make_the_server_keep_is_bounded() -> None:
    """They read a message a second, and the engine is done long before: tokens wait, not messages (grpc/grpc#37715).

    A second round needs no more room than the first one had.
    """
    async with server_process() as server:
        _, _, before = await server.made_ended_resident()
        first = await server.read_slowly(0)
        made, _, _ = await server.made_ended_resident()
        assert made == READERS * ANSWER_TOKENS
        assert first - before < made * TOKEN_BYTES + READERS * CALL_BYTES
        second = await server.read_slowly(READERS)
        assert second - first < READERS * CALL_BYTES
