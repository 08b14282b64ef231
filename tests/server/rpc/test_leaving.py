"""Hundreds of callers that leave while they are served: the engine stops, all is closed, booked and recorded."""

import asyncio
import gc
import logging
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from headworks.intake.models.store import ModelStore
from headworks.intake.onnx.settings import OnnxSettings
from headworks.intake.preprocessor import Preprocessor
from headworks.intake.span import Modality
from headworks.intake.voice.encoding import VoiceForm
from headworks.intake.voice.preprocessor import VoiceModels, VoicePreprocessor
from headworks.intake.voice.settings import VoiceSettings
from headworks.server.engine.engine import EngineRequest, Piece
from headworks.server.flow.settings import FlowSettings, LineSettings
from headworks.server.rpc.settings import RpcSettings
from headworks.server.telemetry.log import TurnLog
from headworks.server.turn.record import Outcome, TurnRecord
from headworks.v1 import turn_pb2 as pb
from headworks.v1.turn_pb2_grpc import TurnServiceStub
from tests.fakes.engines import TalkingEngine
from tests.fakes.preprocessors import LetteredVoice
from tests.intake.voice.speech import QUESTION, QUESTION_FILE, linear16, samples_of
from tests.server.edge import END, Edge, TextAndTables, held_open, setup, turn
from tests.server.rpc.test_load import AT_ONCE, CROWD, HUNDREDS, ROOM, WIDE, leave_at_every_phase
from tests.server.rpc.test_slow_readers import NARROW
from tests.server.rpc.watching import Watcher, next_event, settled, until, watched

REPOSITORY = Path(__file__).resolve().parents[3]
RATE = 16_000
STREAMED = pb.VoiceSetup(encoding=pb.AUDIO_ENCODING_LINEAR16, sample_rate_hertz=RATE)
MICROPHONES = 40


class TirelessEngine(TalkingEngine):
    """Talks until it is closed, and counts what it has given out."""

    def __init__(self) -> None:
        super().__init__()
        self.given = 0

    async def _talk(self, request: EngineRequest) -> AsyncGenerator[Piece, None]:
        while True:
            self.given += 1
            yield Piece((65,))
            await asyncio.sleep(0.05)


class HeapingEngine(TalkingEngine):
    """Gives out more at once than fits on the way to a caller that does not read, and goes on when it is read."""

    async def _talk(self, request: EngineRequest) -> AsyncGenerator[Piece, None]:
        for _ in range(40):
            yield Piece((65,) * 2_000)
            await asyncio.sleep(0)
        await asyncio.Event().wait()


class LoggingWatcher(Watcher):
    """Writes the log too."""

    def turn_finished(self, record: TurnRecord) -> None:
        super().turn_finished(record)
        TurnLog().turn_finished(record)


class Lettered(TextAndTables):
    """Takes audio whose bytes are letters."""

    def open_part(self, modality: Modality, part: int, form: VoiceForm, owner: str) -> Preprocessor:
        if modality is Modality.VOICE:
            return LetteredVoice(part)
        return super().open_part(modality, part, form, owner)


class Hearing(TextAndTables):
    """Takes audio with the real models."""

    def __init__(self, models: VoiceModels) -> None:
        super().__init__()
        self._models = models

    def open_part(self, modality: Modality, part: int, form: VoiceForm, owner: str) -> Preprocessor:
        if modality is Modality.VOICE:
            return VoicePreprocessor(part, self._models, self.pool, form, VoiceSettings())
        return super().open_part(modality, part, form, owner)


def audio(data: bytes, *, last: bool = False) -> pb.ConverseRequest:
    return pb.ConverseRequest(audio=pb.MediaChunk(data=data, last=last))


@dataclass(slots=True)
class Generators:
    """Async generators of our own code."""

    begun: Counter[str] = field(default_factory=Counter)
    abandoned: Counter[str] = field(default_factory=Counter)
    """Those that nobody ended or closed, so that only the collector found them."""


@contextmanager
def generators_watched() -> Iterator[Generators]:
    """Watch how generators end, on the loop that runs."""
    seen, hooks = Generators(), sys.get_asyncgen_hooks()

    def begins(generator: AsyncGenerator[Any, Any]) -> None:
        if name := _own_name(generator):
            seen.begun[name] += 1
        hooks.firstiter(generator)

    def is_abandoned(generator: AsyncGenerator[Any, Any]) -> None:
        if name := _own_name(generator):
            seen.abandoned[name] += 1
        hooks.finalizer(generator)

    sys.set_asyncgen_hooks(begins, is_abandoned)
    try:
        yield seen
    finally:
        sys.set_asyncgen_hooks(*hooks)


def _own_name(generator: AsyncGenerator[Any, Any]) -> str:
    code = getattr(generator, "ag_code", None)  # gRPC's own are not Python's and have none
    is_ours = code is not None and Path(code.co_filename).resolve().is_relative_to(REPOSITORY / "server")
    return str(code.co_qualname) if is_ours else ""


async def passes(count: int = 100) -> None:
    """Let every task go on for a while."""
    for _ in range(count):
        await asyncio.sleep(0)


async def left(server: Edge) -> None:
    """Return when nothing is left of any turn; so many ends may take a busy machine longer than one takes."""
    await until(lambda: not server.admission.held)
    await settled(server)


async def test_hundreds_that_leave_in_mid_answer_stop_the_engine_and_pay_for_their_part() -> None:
    """Nothing but the caller's leave ends these answers; what was made until then is billed (litellm#17364)."""
    engine = TirelessEngine()
    async with watched(engine, flow=ROOM, rpc=WIDE) as server:
        calls = [server.stub.Converse(iter(turn("Hello."))) for _ in range(HUNDREDS)]
        await asyncio.gather(*(next_event(call, "delta") for call in calls))
        for call in calls:
            call.cancel()
        await left(server)
        billed = [record.output_tokens for record in server.recorder.finished]
        assert len(billed) == HUNDREDS
        assert min(billed) > 0
        assert sum(billed) == server.meter.totals("local").output_tokens == engine.given


async def test_a_handler_that_waits_for_a_reader_ends_with_its_caller() -> None:
    """The call is cancelled in the middle of a write, with more behind it, and all is still left (grpc/grpc#22874)."""
    engine = HeapingEngine()
    async with watched(engine, flow=ROOM, rpc=RpcSettings(port=0, send_seconds=600), options=NARROW) as server:
        calls = [server.stub.Converse(iter(turn("Hello."))) for _ in range(100)]
        await until(lambda: [record.output_tokens for record in server.recorder.started] == [80_000] * len(calls))
        await passes()
        assert all(record.messages < 40 for record in server.recorder.started), "some of it must still wait"
        for call in calls:
            call.cancel()
        await left(server)
        assert len(engine.closed) == len(calls)
        assert {record.outcome for record in server.recorder.finished} == {Outcome.CANCELLED}


async def test_hundreds_that_watch_health_and_leave_are_let_go() -> None:
    """A watch waits for ever between two answers, and its handler must end all the same (grpc/grpc#22874)."""
    async with watched(rpc=WIDE) as server:
        stub = health_pb2_grpc.HealthStub(server.channel)
        before = len(asyncio.all_tasks())
        watches = [stub.Watch(health_pb2.HealthCheckRequest()) for _ in range(HUNDREDS)]
        for watch in watches:
            await watch.read()
        for watch in watches:
            watch.cancel()
        await until(lambda: len(asyncio.all_tasks()) <= before)


async def test_the_log_says_cancelled_of_hundreds_that_left(caplog: pytest.LogCaptureFixture) -> None:
    """What gRPC says of itself in its callbacks is not asked; in line and in mid answer alike (grpc/grpc#36193)."""
    caplog.set_level(logging.INFO, "headworks.turn")
    async with watched(TirelessEngine(), flow=CROWD, rpc=WIDE, observer=LoggingWatcher()) as server:
        calls = [server.stub.Converse(iter(turn("Hello."))) for _ in range(HUNDREDS)]
        await until(lambda: (server.admission.held, server.admission.waiting) == (40, HUNDREDS - 40))
        await until(lambda: server.engine.given > 100)
        for call in calls:
            call.cancel()
        await left(server)
    lines: list[Any] = [line for line in caplog.records if line.message == "turn.finished"]
    assert Counter((line.outcome, line.error) for line in lines) == {("cancelled", "CancelledError"): HUNDREDS}
    assert {line.levelname for line in lines} == {"INFO"}


async def test_every_generator_of_hundreds_that_leave_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps, prompts and answers are closed by who reads them, and not by the collector (connect-py#174)."""
    complaints: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    with generators_watched() as generators:
        async with watched(TalkingEngine(tokens=200), flow=CROWD, rpc=WIDE) as server:
            await asyncio.gather(*(leave_at_every_phase(server, number) for number in range(HUNDREDS)))
            await settled(server)
        gc.collect()
        await passes()
    assert {"_steps", "PromptFeed.chunks"} <= generators.begun.keys()
    assert not generators.abandoned
    assert not complaints


async def speak_and_go(server: Edge, count: int, chunks: list[bytes], reached: Callable[[], object]) -> None:
    """Let so many speak, and go without an end of the stream: half by a cancel, half with their connection.

    Args:
        reached: Holds once it is time to go.
    """
    own = (("grpc.use_local_subchannel_pool", 1),)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{server.server.port}", options=own) as channel:
        stub: Any = TurnServiceStub(channel)
        steps = [setup(voice=STREAMED), *(audio(chunk) for chunk in chunks)]
        calls = [stub.Converse(held_open(steps)) for _ in range(count)]
        await until(reached)
        for call in calls[::2]:
            call.cancel()
    await left(server)


async def heard(server: Edge, *chunks: bytes) -> list[str]:
    """Speak to the end, and return what was heard."""
    steps = [setup(voice=STREAMED), *(audio(chunk) for chunk in chunks), audio(b"", last=True), END]
    replies = [reply async for reply in server.stub.Converse(iter(steps), timeout=60)]
    assert replies[-1].WhichOneof("event") == "finished"
    return [reply.heard.transcript for reply in replies if reply.WhichOneof("event") == "heard" and reply.heard.final]


async def test_hundreds_of_audio_streams_that_were_left_open_leave_all_their_room() -> None:
    """One more than may run at once, again and again, and then the next one is heard (kaldi-grpc-server#7)."""
    flow = FlowSettings(max_turns=MICROPHONES, line=LineSettings(max_waiting=1), limit=AT_ONCE)
    async with watched(flow=flow, rpc=WIDE, intake=Lettered()) as server:
        for _ in range(5):
            await speak_and_go(
                server, MICROPHONES + 1, [b"How ", b"many "], lambda: server.admission.held and server.admission.waiting
            )
        assert len(server.recorder.finished) == 5 * (MICROPHONES + 1)
        assert await heard(server, b"How many?") == ["How many?"]


@pytest.mark.models
async def test_real_ears_are_free_after_streams_that_were_left_open(store: ModelStore) -> None:
    """The threads that hear are not held by a speaker who left in mid word (kaldi-grpc-server#7)."""
    speech = linear16(samples_of(QUESTION_FILE))
    intake = Hearing(VoiceModels.load(store, OnnxSettings()))
    async with watched(flow=FlowSettings(max_turns=4, limit=AT_ONCE), rpc=WIDE, intake=intake) as server:
        await speak_and_go(server, 5, [speech[:32_000]], lambda: server.admission.waiting and intake.pool.waiting)
        await until(lambda: not intake.pool.waiting)
        assert await heard(server, speech) == [QUESTION]
