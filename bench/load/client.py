"""Callers in a process of their own, so that neither the server's loop nor the reader of the clock waits for them."""

import asyncio
import gc
import multiprocessing
import os
import time
from collections.abc import Collection
from dataclasses import dataclass
from multiprocessing.connection import Connection

import grpc
import uvloop

from bench.load.caller import Caller
from bench.load.outcome import Outcome
from bench.under_test import cpu_seconds

CALLERS_PER_CHANNEL = 64
"""Below the 100 streams that many servers allow on one connection."""
MAX_CALLERS = 8192
READY_SECONDS = 60.0
REPORT_SECONDS = 60.0
"""Thousands of calls are hung up, and their outcomes come through a pipe."""
LOOK_SECONDS = 0.02
CANCEL_SECONDS = 1.0
_OPTIONS = (("grpc.use_local_subchannel_pool", 1),)


@dataclass(frozen=True, slots=True)
class Load:
    """What one client process does."""

    port: int
    callers: int
    tokens: int
    deadline_seconds: float = 3.0
    stagger_seconds: float = 1.0
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Report:
    """What one client process saw, from its start to its stop."""

    calls: int
    """Begun; as many as there are outcomes, or a call was lost."""
    outcomes: list[Outcome]
    lags: list[float]
    """Seconds by which the client's own loop was late, each `LOOK_SECONDS`."""


class Client:
    """One process of callers: ready once entered, told to stop at the end."""

    def __init__(self, load: Load) -> None:
        if not 0 < load.callers <= MAX_CALLERS:
            raise ValueError(f"callers must be 1 to {MAX_CALLERS}")
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_run, args=(theirs, load), daemon=True)

    def __enter__(self) -> "Client":
        self._process.start()
        if not self._pipe.poll(READY_SECONDS):
            self.__exit__()
            raise RuntimeError("a client process did not start")
        self._pipe.recv()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join()

    def start(self) -> None:
        """Begin to call."""
        self._pipe.send(None)

    def stop(self) -> Report:
        """Hang up what is open, and return all there was."""
        self._pipe.send(None)
        if not self._pipe.poll(REPORT_SECONDS):
            raise RuntimeError("a client process did not report")
        report: Report = self._pipe.recv()
        return report

    def cpu_seconds(self) -> float:
        return cpu_seconds(self._process.pid or 0)


def _run(pipe: Connection, load: Load) -> None:
    report = uvloop.run(_call_until_told(pipe, load))
    os.set_blocking(pipe.fileno(), True)  # the loop that watched it made it otherwise
    pipe.send(report)


async def _call_until_told(pipe: Connection, load: Load) -> Report:
    count = -(-load.callers // CALLERS_PER_CHANNEL)
    channels = [grpc.aio.insecure_channel(f"127.0.0.1:{load.port}", options=_OPTIONS) for _ in range(count)]
    await asyncio.gather(*(channel.channel_ready() for channel in channels))
    outcomes: list[Outcome] = []
    callers = [
        Caller(channels[i % count], load.tokens, load.deadline_seconds, outcomes, load.seed * MAX_CALLERS + i)
        for i in range(load.callers)
    ]
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    pipe.send(None)
    await _told(pipe)
    lags: list[float] = []
    tasks = [asyncio.create_task(caller.run(load.stagger_seconds)) for caller in callers]
    watch = asyncio.create_task(_watch(lags))
    stop = asyncio.create_task(_told(pipe))
    # A caller never ends by itself: one that does has met an error that is none of the call's.
    await asyncio.wait((stop, watch, *tasks), return_when=asyncio.FIRST_COMPLETED)
    was_told = stop.done()
    for caller in callers:
        caller.is_leaving = True
    await _end((stop, watch, *tasks))
    for task in tasks:
        if not task.cancelled() and (error := task.exception()):
            raise error
    if not was_told:
        raise RuntimeError("a caller ended by itself")
    await asyncio.gather(*(channel.close() for channel in channels))
    return Report(sum(caller.calls for caller in callers), outcomes, lags)


async def _end(tasks: Collection["asyncio.Task[None]"]) -> None:
    """Cancel tasks until they have ended: grpc.aio swallows a cancel that meets the end of a call."""
    open_tasks = set(tasks)
    while open_tasks:
        for task in open_tasks:
            task.cancel()
        _, open_tasks = await asyncio.wait(open_tasks, timeout=CANCEL_SECONDS)


async def _watch(lags: list[float]) -> None:
    while True:
        due = time.monotonic() + LOOK_SECONDS
        await asyncio.sleep(LOOK_SECONDS)
        lags.append(time.monotonic() - due)


async def _told(pipe: Connection) -> None:
    """Wait for the next word of the parent."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(pipe.fileno(), told.set)
    try:
        await told.wait()
    finally:
        loop.remove_reader(pipe.fileno())
    pipe.recv()
