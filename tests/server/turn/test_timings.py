"""Where a turn's time went, on a clock that only judge and engine turn."""

from collections.abc import AsyncGenerator

from headworks.policy.question import Question
from headworks.policy.verdict import Verdict
from headworks.server.engine.engine import EngineRequest, Piece
from headworks.v1 import turn_pb2 as pb
from tests.fakes.clocks import HandClock
from tests.fakes.engines import TalkingEngine
from tests.fakes.judges import AllowingJudge
from tests.server.edge import END, setup, table, text, turn
from tests.server.rpc.watching import settled, watched

JUDGING, FIRST_TOKEN, GAP, TOKENS = 3.0, 50.0, 2.0, 4
"""Seconds, and tokens."""


class SlowJudge(AllowingJudge):
    def __init__(self, clock: HandClock) -> None:
        super().__init__()
        self._clock = clock

    def _verdict(self, question: Question) -> Verdict:
        self._clock.time += JUDGING
        return super()._verdict(question)


class SlowEngine(TalkingEngine):
    def __init__(self, clock: HandClock) -> None:
        super().__init__(TOKENS)
        self._clock = clock

    async def _talk(self, request: EngineRequest) -> AsyncGenerator[Piece, None]:
        self._clock.time += FIRST_TOKEN
        async for piece in super()._talk(request):
            yield piece
            self._clock.time += GAP


def seconds(duration: object) -> float:
    return duration.ToTimedelta().total_seconds()  # type: ignore[attr-defined]  # protobuf's Duration


async def timings_of(*steps: pb.ConverseRequest) -> pb.Timings:
    """Run a turn on the slow parts, and check that the record has what the caller is told."""
    clock = HandClock()
    async with watched(SlowEngine(clock), SlowJudge(clock), clock=clock) as server:
        replies = [reply async for reply in server.stub.Converse(iter(steps))]
        await settled(server)
        told: pb.Timings = replies[-1].finished.timings
        kept = server.recorder.finished[0].timings
    assert (kept.accept, kept.policy) == (seconds(told.accept), seconds(told.policy))
    return told


async def test_each_step_has_its_own_time() -> None:
    """Two judgements, four tokens with three gaps, and no wait for a permit."""
    told = await timings_of(*turn("Hello."))
    assert seconds(told.accept) == JUDGING
    assert seconds(told.policy) == 2 * JUDGING
    assert seconds(told.queue) == 0
    assert seconds(told.generation) == GAP * (TOKENS - 1)
    assert FIRST_TOKEN <= seconds(told.first_token) <= FIRST_TOKEN + JUDGING


async def test_intake_is_told_by_kind_of_input() -> None:
    """Two parts of a kind are one line."""
    parts = (text("One."), table(b"a\n1\n"), text("Two."))
    told = await timings_of(setup(), *parts, END)
    assert sorted(timing.modality for timing in told.intake) == [pb.MODALITY_TEXT, pb.MODALITY_TABLE]
