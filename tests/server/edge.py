"""A real gRPC server around a turn runner, with fakes where a test wants them; no model store."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from headworks.intake.preprocessor import Preprocessor
from headworks.intake.prompt.settings import PromptSettings
from headworks.intake.prompt.template import ChatTemplate
from headworks.intake.prompt.tokenizer import ModelTokenizer
from headworks.intake.span import Modality
from headworks.intake.table.preprocessor import TablePreprocessor
from headworks.intake.table.settings import TableSettings, TableStoreSettings
from headworks.intake.table.store import TableStore
from headworks.intake.text import TextPreprocessor, TextSettings
from headworks.intake.voice.encoding import VoiceForm
from headworks.intake.work import WorkPool, WorkSettings
from headworks.policy.identity.credentials import CredentialIdentifier
from headworks.policy.identity.settings import CredentialSettings
from headworks.policy.judge import Judge
from headworks.policy.trust.settings import TrustSettings
from headworks.server.clock import Clock, SystemClock
from headworks.server.engine.engine import Engine
from headworks.server.engine.served import ServedModel
from headworks.server.flow.admission import Admission
from headworks.server.flow.meter import Meter
from headworks.server.flow.settings import FlowSettings
from headworks.server.rpc.server import RpcServer
from headworks.server.rpc.settings import RpcSettings
from headworks.server.state.memory import MemoryState
from headworks.server.state.settings import StateSettings
from headworks.server.turn.opening import Opening
from headworks.server.turn.record import SilentObserver, TurnObserver, TurnRecord
from headworks.server.turn.runner import TurnRunner
from headworks.server.turn.settings import TurnSettings
from headworks.v1 import turn_pb2 as pb
from headworks.v1.turn_pb2_grpc import TurnServiceStub
from tests.fakes.engines import TalkingEngine
from tests.fakes.judges import AllowingJudge
from tests.fakes.tokenizers import CHATML, make_spec

POOL = WorkPool("prompt", WorkSettings())
"""Encodes the long texts of all tests."""


class TextAndTables:
    """Intake without models: text and tables for real, nothing else."""

    def __init__(self) -> None:
        self.pool = WorkPool("table", WorkSettings())
        self.tables = TableStore(TableStoreSettings())

    def open_part(self, modality: Modality, part: int, form: VoiceForm, owner: str) -> Preprocessor:
        if modality is Modality.TABLE:
            return TablePreprocessor(part, owner, self.tables, self.pool, len, TableSettings())
        return TextPreprocessor(part, TextSettings())

    def close(self) -> None:
        self.pool.close()
        self.tables.close()


def served_by(engine: Engine, name: str = "talking") -> ServedModel:
    """A served model with a small tokenizer and a plain template."""
    tokenizer, template = ModelTokenizer(make_spec()), ChatTemplate(CHATML, {})
    return ServedModel(name, engine, tokenizer, template, f"engine.{name}.max_model_tokens", PromptSettings(), POOL)


class Recorder(SilentObserver):
    """Keeps the record of every turn that ended."""

    def __init__(self) -> None:
        self.finished: list[TurnRecord] = []

    def turn_finished(self, record: TurnRecord) -> None:
        self.finished.append(record)


@dataclass(slots=True)
class Edge:
    """A running server, and what stands behind it."""

    server: RpcServer
    channel: grpc.aio.Channel
    engine: Any
    admission: Admission
    meter: Meter
    intake: TextAndTables
    recorder: Any
    runner: TurnRunner
    stub: Any = field(init=False)

    def __post_init__(self) -> None:
        self.stub = TurnServiceStub(self.channel)

    async def is_clean(self) -> None:
        """Return when nothing runs; fail when something still does after a second."""
        async with asyncio.timeout(1):
            while self.engine.load().running or self._open_calls():  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    def _open_calls(self) -> int:
        return self.admission.held + self.admission.waiting + len(self.admission.lobby)

    async def still_works(self) -> None:
        """The next turn on the same channel is answered."""
        replies = [reply async for reply in self.stub.Converse(iter(turn("Hello")), timeout=5)]
        assert replies[-1].WhichOneof("event") == "finished"


@asynccontextmanager
async def edge(
    engine: Engine | None = None,
    judge: Judge | None = None,
    *,
    flow: FlowSettings | None = None,
    settings: TurnSettings | None = None,
    rpc: RpcSettings | None = None,
    observer: TurnObserver | None = None,
    credentials: CredentialSettings | None = None,
    intake: TextAndTables | None = None,
    clock: Clock | None = None,
    options: tuple[tuple[str, int], ...] = (),
) -> AsyncIterator[Edge]:
    """Serve on a free port, and check at the end that no turn is left."""
    flow = flow or FlowSettings()
    clock, recorder, settings = clock or SystemClock(), observer or Recorder(), settings or TurnSettings()
    engine = engine or TalkingEngine()
    admission = Admission(flow, clock, engine.load)
    intake = intake or TextAndTables()
    meter = Meter(MemoryState(StateSettings(), clock), flow.max_tenants, settings.max_seconds)
    served = served_by(engine)
    opening = Opening(served, judge or AllowingJudge(), TrustSettings(), admission, meter, settings, clock)
    runner = TurnRunner(
        served=served, intake=intake, opening=opening, observer=recorder, settings=settings, clock=clock
    )
    identifier = CredentialIdentifier(credentials or CredentialSettings())
    server = RpcServer(rpc or RpcSettings(port=0), runner, identifier, clock)
    await server.start()
    await server.set_serving(True)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}", options=options) as channel:
        running = Edge(server, channel, engine, admission, meter, intake, recorder, runner)
        try:
            yield running
            await running.is_clean()
        finally:
            await server.stop(0)
            intake.close()


def setup(**fields: Any) -> pb.ConverseRequest:
    return pb.ConverseRequest(setup=pb.TurnSetup(**fields))


def text(words: str, *, last: bool = True) -> pb.ConverseRequest:
    return pb.ConverseRequest(text=pb.TextChunk(text=words, last=last))


def table(data: bytes, *, last: bool = True) -> pb.ConverseRequest:
    return pb.ConverseRequest(table=pb.MediaChunk(data=data, last=last))


END = pb.ConverseRequest(end_of_input=pb.EndOfInput())


def turn(words: str) -> list[pb.ConverseRequest]:
    return [setup(), text(words), END]


@dataclass(frozen=True, slots=True)
class Failure:
    """How a call ended."""

    code: grpc.StatusCode
    message: str
    reason: str
    metadata: dict[str, str]
    retry_after_seconds: float | None


async def failure_of(call: Any) -> Failure:
    """Read a call to its error."""
    try:
        async for _ in call:
            pass
    except grpc.aio.AioRpcError as error:
        return failure_from(error)
    raise AssertionError("the call ended well")


def failure_from(error: grpc.aio.AioRpcError) -> Failure:
    reason, metadata, retry = "", {}, None
    trailing = dict(error.trailing_metadata() or ())
    details = Status.FromString(trailing.get("grpc-status-details-bin", b"")).details
    for detail in details:
        info, wait = ErrorInfo(), RetryInfo()
        if detail.Unpack(info):
            assert info.domain == "headworks"
            reason, metadata = info.reason, dict(info.metadata)
        elif detail.Unpack(wait):
            retry = wait.retry_delay.ToTimedelta().total_seconds()
    return Failure(error.code(), error.details() or "", reason, metadata, retry)


async def held_open(steps: Iterable[pb.ConverseRequest]) -> AsyncIterator[pb.ConverseRequest]:
    """Send steps and then nothing, without a half-close."""
    for step in steps:
        yield step
    await asyncio.Event().wait()


def csv(rows: int) -> bytes:
    return b"a,b\n" + b"".join(b"%d,%s\n" % (row, json.dumps("x" * 90).encode()) for row in range(rows))
