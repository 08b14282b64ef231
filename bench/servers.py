"""The servers under test: `python -m bench.servers bare|gateway PORT FIRST_SECONDS GAP_SECONDS TOKENS`."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import grpc
import uvloop

from headworks.server.main.gateway import serve
from headworks.server.settings import load
from headworks.v1 import turn_pb2 as pb
from headworks.v1.turn_pb2_grpc import TurnServiceServicer, add_TurnServiceServicer_to_server


class BareService(TurnServiceServicer):
    """Reads to the end of input and writes tokens by the timing model; nothing else."""

    def __init__(self, first_seconds: float, gap_seconds: float, tokens: int) -> None:
        self._first_seconds = first_seconds
        self._gap_seconds = gap_seconds
        self._tokens = tokens

    async def Converse(  # type: ignore[override]  # noqa: N802
        self, request_iterator: AsyncIterator[pb.ConverseRequest], context: grpc.aio.ServicerContext[Any, Any]
    ) -> None:
        async for request in request_iterator:
            if request.HasField("end_of_input"):
                break
        due = time.monotonic() + self._first_seconds
        for sequence in range(self._tokens):
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            due += self._gap_seconds
            await context.write(pb.ConverseResponse(sequence=sequence, delta=pb.Delta(text=" token", token_ids=(1,))))


async def serve_bare(port: int, service: BareService) -> None:
    """Serve until killed."""
    server = grpc.aio.server()
    add_TurnServiceServicer_to_server(service, server)
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    await server.wait_for_termination()


def main() -> None:
    """Serve one of them."""
    kind, port, first_seconds, gap_seconds, tokens = sys.argv[1:]
    if kind == "bare":
        service = BareService(float(first_seconds), float(gap_seconds), int(tokens))
        uvloop.run(serve_bare(int(port), service))
        return
    overrides = {
        "rpc.port": int(port),
        "http.port": 0,
        "log_level": "warning",
        "engine.kind": "simulated",
        "engine.simulated.first_token_seconds": float(first_seconds),
        "engine.simulated.gap_seconds": float(gap_seconds),
        "engine.simulated.answer_tokens": int(tokens),
    }
    sys.exit(serve(load(overrides=overrides)))


if __name__ == "__main__":
    main()
