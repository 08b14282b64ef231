"""Reads a fixed number of turns to their end, and counts what came; run inside one process."""

import asyncio
import gc
from dataclasses import dataclass

import grpc

from bench.wire import Wire

CONNECTIONS = 4
TURN_SECONDS = 60.0


@dataclass(slots=True)
class Received:
    """What came of some turns that ended well."""

    turns: int = 0
    failed: int = 0
    tokens: int = 0
    messages: int = 0
    """Those that carry tokens."""
    message_bytes: int = 0
    text_bytes: int = 0


class Reader:
    """Some callers on a few connections."""

    def __init__(self, port: int, wire: Wire) -> None:
        self._wire = wire
        options = [("grpc.use_local_subchannel_pool", 1)]
        self._channels = [grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=options) for _ in range(CONNECTIONS)]
        self._calls = [channel.stream_stream(wire.method) for channel in self._channels]

    async def __aenter__(self) -> "Reader":
        await asyncio.gather(*(channel.channel_ready() for channel in self._channels))
        gc.freeze()
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(channel.close() for channel in self._channels))

    async def read(self, callers: int, turns: int, tokens: int) -> Received:
        """Let each caller run so many turns with answers of so many tokens."""
        received = Received()

        async def caller(number: int) -> None:
            for _ in range(turns):
                await self._turn(number, self._wire.requests(tokens), received)

        await asyncio.gather(*map(caller, range(callers)))
        return received

    async def _turn(self, number: int, requests: tuple[bytes, ...], received: Received) -> None:
        try:
            async for reply in self._calls[number % CONNECTIONS](iter(requests), timeout=TURN_SECONDS):
                tokens, text_bytes = self._wire.read(reply)
                if tokens:
                    received.tokens += tokens
                    received.text_bytes += text_bytes
                    received.messages += 1
                    received.message_bytes += len(reply)
        except grpc.aio.AioRpcError:
            received.failed += 1
        else:
            received.turns += 1
