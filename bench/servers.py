"""The servers under test: `python -m bench.servers bare|gateway|smg PORT FIRST_SECONDS GAP_SECONDS TOKENS`."""

import argparse
import asyncio
import gc
import json
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import uvloop

from bench.turn import Timing
from headworks.server.main.gateway import serve
from headworks.server.settings import Settings, load
from headworks.v1 import turn_pb2 as pb
from headworks.v1.turn_pb2_grpc import TurnServiceServicer, add_TurnServiceServicer_to_server

UNMETERED = {"turns_per_minute": 10**9, "tokens_per_minute": 2 * 10**9}
"""Rates that no load here reaches: one tenant sends all of it, and the gateway is measured, not its tenant's rates."""


class BareService(TurnServiceServicer):
    """Reads to the end of input and writes tokens by the timing model; nothing else."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing

    async def Converse(  # type: ignore[override]  # noqa: N802
        self, request_iterator: AsyncIterator[pb.ConverseRequest], context: grpc.aio.ServicerContext[Any, Any]
    ) -> None:
        timing, tokens = self._timing, 0
        await context.write(pb.ConverseResponse(sequence=1, accepted=pb.Accepted(turn_id="bare")))
        async for request in request_iterator:
            if request.HasField("setup"):
                tokens = min(timing.tokens, request.setup.generation.max_output_tokens)
            if request.HasField("end_of_input"):
                break
        due = time.monotonic() + timing.first_token_seconds
        for sequence in range(2, tokens + 2):
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            due += timing.gap_seconds
            await context.write(pb.ConverseResponse(sequence=sequence, delta=pb.Delta(text=" token", token_ids=(1,))))
        await context.write(pb.ConverseResponse(sequence=tokens + 2, finished=pb.Finished()))


async def serve_bare(port: int, service: BareService) -> None:
    """Serve until killed."""
    server = grpc.aio.server()
    add_TurnServiceServicer_to_server(service, server)
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    gc.freeze()
    await server.wait_for_termination()


def unmetered_policy(source: Path, folder: Path) -> Path:
    """Copy the policy into a folder, with its tenants' rates raised."""
    shutil.copytree(source, folder, dirs_exist_ok=True)
    file = folder / "data.json"
    data = json.loads(file.read_text())
    for tenant in data["headworks"]["tenants"].values():
        tenant.update(UNMETERED)
    file.write_text(json.dumps(data))
    return folder


def gateway_settings(given: argparse.Namespace, folder: Path) -> Settings:
    """Return the product's settings, but for its engine, and for bounds of one tenant and one host."""
    usual = load()
    overrides = {
        "rpc.port": given.port,
        "http.port": 0,
        "log_level": "warning",
        "engine.kind": "simulated",
        "engine.simulated.first_token_seconds": given.first_seconds,
        "engine.simulated.gap_seconds": given.gap_seconds,
        "engine.simulated.answer_tokens": given.tokens,
        "policy.regorus.folder": str(unmetered_policy(usual.policy.regorus.folder, folder)),
        "flow.max_tenant_turns": usual.flow.max_turns,
        "flow.max_peer_turns": usual.flow.max_turns,
        "flow.max_tenant_silent_calls": usual.flow.max_silent_calls,
        "flow.max_peer_silent_calls": usual.flow.max_silent_calls,
    }
    for pair in given.set:
        key, _, value = pair.partition("=")
        overrides[key] = value
    return load(overrides=overrides)


def main() -> None:
    """Serve one of them."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("kind", choices=("bare", "gateway", "smg"))
    arguments.add_argument("port", type=int)
    arguments.add_argument("first_seconds", type=float)
    arguments.add_argument("gap_seconds", type=float)
    arguments.add_argument("tokens", type=int)
    arguments.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the gateway")
    arguments.add_argument("--count-allocations", type=Path, metavar="FILE", help="where to count them, for another")
    given = arguments.parse_args()
    if given.count_allocations is not None:
        from bench.allocations import count_into

        count_into(given.count_allocations)
    timing = Timing(given.first_seconds, given.gap_seconds, given.tokens)
    if given.kind == "bare":
        uvloop.run(serve_bare(given.port, BareService(timing)))
        return
    if given.kind == "smg":
        from bench.smg.server import serve_smg  # installed where a reader wants it measured

        uvloop.run(serve_smg(given.port, timing))
        return
    with tempfile.TemporaryDirectory() as folder:
        status = serve(gateway_settings(given, Path(folder)))
    sys.exit(status)


if __name__ == "__main__":
    main()
