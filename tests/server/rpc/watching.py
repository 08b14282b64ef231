"""To reach a chosen moment of a turn, and to see what is left after it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import grpc

from headworks.policy.question import Stage
from headworks.server.turn.record import TurnRecord
from headworks.server.turn.steps import Judgement
from headworks.v1 import turn_pb2 as pb
from tests.server.edge import Edge, Recorder, edge

PATIENCE_SECONDS = 10.0
"""For what must come; a test fails by it, none passes by it."""


class Watcher(Recorder):
    """Keeps every turn that began, and each verdict."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[TurnRecord] = []
        self.verdicts: list[tuple[Stage, bool]] = []

    def turn_started(self, record: TurnRecord) -> Mapping[str, str]:
        self.started.append(record)
        return {}

    def judged(self, record: TurnRecord, stage: Stage, judgement: Judgement, seconds: float) -> None:
        self.verdicts.append((stage, judgement.verdict.allow))


@asynccontextmanager
async def watched(*fakes: Any, **options: Any) -> AsyncIterator[Edge]:
    """An `edge` with a `Watcher`; at the end every turn has its record closed and no task is left."""
    before = asyncio.all_tasks()
    async with edge(*fakes, **{"observer": Watcher(), **options}) as server:
        yield server
        await settled(server)
    await until(lambda: not _new_tasks(before), 1.0, lambda: f"tasks left: {_new_tasks(before)}")


async def settled(server: Edge) -> None:
    """Return when no turn is left in engine, permits or records; fail a second after."""

    def left() -> tuple[int, ...]:
        records = len(server.recorder.started) - len(server.recorder.finished)
        unclosed = len(server.engine.requests) - len(server.engine.closed)
        flow = server.admission
        return server.engine.load().running, flow.held, flow.waiting, len(flow.lobby), records, unclosed

    await until(lambda: not any(left()), 1.0, lambda: f"running, held, waiting, silent, records, generators: {left()}")


async def until(holds: Callable[[], object], seconds: float = PATIENCE_SECONDS, why: Callable[[], str] = str) -> None:
    """Return once it holds; fail when it does not in time."""
    try:
        async with asyncio.timeout(seconds):
            while not holds():  # noqa: ASYNC110  # figures tell no one when they change
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(why()) from None


async def next_event(call: Any, kind: str) -> None:
    """Read up to the next event of a kind."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (message := await call.read()) is not grpc.aio.EOF:
            if message.WhichOneof("event") == kind:
                return
    raise AssertionError(f"the call ended without {kind}")


def as_normalize(steps: list[pb.ConverseRequest]) -> list[pb.NormalizeRequest]:
    """The same steps for Normalize; both requests have the same fields."""
    return [pb.NormalizeRequest.FromString(step.SerializeToString()) for step in steps]


def _new_tasks(before: "set[asyncio.Task[Any]]") -> "set[asyncio.Task[Any]]":
    return {task for task in asyncio.all_tasks() - before - {asyncio.current_task()} if not task.done()}
