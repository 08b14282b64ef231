"""Turns opened at the same moment, and turns opened at random; run inside one process."""

import asyncio
import gc
import random
import time

import grpc

from bench.turn import Sample, Timing, turn
from headworks.v1.turn_pb2_grpc import TurnServiceStub

CONNECTIONS = 4
PAUSE_SECONDS = 0.05
"""Between two rounds."""


class Callers:
    """Some callers of one server on a few connections."""

    def __init__(self, port: int, count: int) -> None:
        self._channels = [
            grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.use_local_subchannel_pool", 1)])
            for _ in range(min(CONNECTIONS, count))
        ]
        self._stubs = [TurnServiceStub(self._channels[i % len(self._channels)]) for i in range(count)]
        self._sample = Sample()

    async def __aenter__(self) -> "Callers":
        await asyncio.gather(*(turn(TurnServiceStub(channel), Sample()) for channel in self._channels))
        gc.freeze()
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(channel.close() for channel in self._channels))

    async def at_once(self, rounds: int) -> Sample:
        """Let all open a turn at the same moment, so many times."""
        for _ in range(rounds):
            await asyncio.gather(*map(self._turn, self._stubs))
            await asyncio.sleep(PAUSE_SECONDS)
        return self._sample

    async def at_random(self, timing: Timing, seconds: float) -> Sample:
        """Let each begin at a random moment of one turn's length, and open one turn after the other until then."""
        end = time.perf_counter() + timing.seconds + seconds

        async def caller(stub: TurnServiceStub) -> None:
            await asyncio.sleep(random.random() * timing.seconds)
            while time.perf_counter() < end:
                await self._turn(stub)

        await asyncio.gather(*map(caller, self._stubs))
        return self._sample

    async def _turn(self, stub: TurnServiceStub) -> None:
        try:
            await turn(stub, self._sample)
        except grpc.aio.AioRpcError:
            self._sample.failed += 1
