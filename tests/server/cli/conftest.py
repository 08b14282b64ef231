"""A real grpc.aio server with a script, and the command line in a process of its own."""

import asyncio
import os
import sys
import wave
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest

from headworks.v1.turn_pb2_grpc import add_TurnServiceServicer_to_server
from tests.server.cli.scripted import ScriptedTurns

Serve = Callable[[ScriptedTurns], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    error: str


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Start a scripted server on a free port; returns its target."""
    async with AsyncExitStack() as stack:

        async def start(turns: ScriptedTurns) -> str:
            server = grpc.aio.server()
            add_TurnServiceServicer_to_server(turns, server)
            port = server.add_insecure_port("127.0.0.1:0")
            await server.start()
            stack.push_async_callback(server.stop, 0)
            return f"127.0.0.1:{port}"

        yield start


async def start_command(
    arguments: Sequence[str], *, stdin: int = asyncio.subprocess.DEVNULL, pass_fds: Sequence[int] = (), **variables: str
) -> asyncio.subprocess.Process:
    """Start `headworks` with its output in pipes."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HEADWORKS_")}
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "headworks.server.cli",
        *arguments,
        env={**kept, **variables},
        stdin=stdin,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        pass_fds=pass_fds,
    )


async def command(*arguments: str, **variables: str) -> Ended:
    """Run `headworks` to its end."""
    process = await start_command(arguments, **variables)
    out, error = await process.communicate()
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), error.decode())


def write_wav(path: Path, *, seconds: float = 0.3, channels: int = 1, width: int = 2, rate: int = 16_000) -> Path:
    """Write silence."""
    with wave.open(str(path), "wb") as writer:
        writer.setnchannels(channels)
        writer.setsampwidth(width)
        writer.setframerate(rate)
        writer.writeframes(bytes(round(seconds * rate) * channels * width))
    return path
