"""A TurnService that says what its script says, and remembers what it was sent."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from headworks.intake.finding import Column, Heard, Label, Read, Seen, TableProfile, TextLine
from headworks.intake.span import AudioOrigin, ImageOrigin, Modality, Span, TableOrigin, TextOrigin
from headworks.policy.trust.assess import Trust
from headworks.policy.verdict import Obligations, Verdict
from headworks.server.engine.engine import FinishReason
from headworks.server.flow.allowance import Allowance
from headworks.server.rpc.call import fail
from headworks.server.rpc.responses import normalized_from, response_from
from headworks.server.turn.steps import Accepted, Delta, Event, Finished, Found, Judgement, Normalized, Timings, Usage
from headworks.v1 import turn_pb2 as pb
from headworks.v1.turn_pb2_grpc import TurnServiceServicer

TURN_ID = "turn-1"
JUDGEMENT = Judgement(
    Verdict(
        allow=True,
        decision_id="decision-1",
        reasons=("LOOPBACK",),
        judge="",
        revision="r1",
        obligations=Obligations(max_input_tokens=3000, tokens_per_minute=9000, modalities=("text", "voice")),
    ),
    Trust(0.8, (("no_credentials", 0.8),)),
)
PARTIAL = Heard(1, "How many", False, 0.7, AudioOrigin(0, 800), ())
FINAL = Heard(1, "How many orders did we ship in March?", True, 0.91, AudioOrigin(120, 2440), ())
SEEN = Seen(
    part=1,
    format="png",
    width=480,
    height=320,
    lines=(TextLine("TOTAL 12.50", 0.98, ImageOrigin(10, 20, 200, 44)),),
    labels=(Label("document", "a receipt", 0.93),),
    spans=(),
)
READ = Read(
    part=1,
    table_id="table-1",
    profile=TableProfile(
        "csv", 12, (Column("month", "VARCHAR", 0, 12, "2025-01", "2025-12"), Column("x", "DATE", 12, 0, None, None))
    ),
    spans=(),
)
FINISHED = Finished(
    FinishReason.STOP,
    Usage(321, 3, 8676, (Allowance("obligations.tokens_per_minute", 9000, 8676, 2.5),)),
    Timings(0.004, 0.001, 0.002, ((Modality.VOICE, 0.71), (Modality.TABLE, 0.03)), 0.25, 0.5),
    JUDGEMENT,
)
EVENTS: tuple[Event, ...] = (
    Accepted(TURN_ID, "smollm2", JUDGEMENT),
    Found(READ),
    Found(SEEN),
    Found(PARTIAL),
    Found(FINAL),
    Delta("We shipped ", (11, 12)),
    Delta("459.", (13,)),
    FINISHED,
)
SPANS = (
    Span(Modality.TEXT, 1, "Which month?", TextOrigin(0, 12), token_ids=(1, 2, 3)),
    Span(Modality.VOICE, 1, "How many?", AudioOrigin(120, 2440), 0.91, token_ids=(4,)),
    Span(Modality.IMAGE, 1, "TOTAL", ImageOrigin(1, 2, 3, 4), 0.98, token_ids=(5,)),
    Span(Modality.TABLE, 1, "month", TableOrigin(0, 12, ("month", "x")), token_ids=(6,)),
)
NORMALIZED = Normalized(TURN_ID, SPANS, 40, JUDGEMENT)

Scene = Event | Exception | asyncio.Event
"""Say this, fail like this, or wait for this."""


class ScriptedTurns(TurnServiceServicer):
    """Reads all input, then plays its scenes."""

    def __init__(
        self, scenes: Sequence[Scene] = EVENTS, *, reads_all: bool = True, later: Sequence[Scene] | None = None
    ) -> None:
        """Take what the first call is told, and what the calls after it are, if that is something else."""
        self.scenes = tuple(scenes)
        self.later = later
        self.reads_all = reads_all
        self.requests: list[Any] = []
        self.metadata: dict[str, Any] = {}
        self.has_setup = asyncio.Event()
        self.started = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def Converse(self, request_iterator: Any, context: Any) -> AsyncIterator[pb.ConverseResponse]:  # noqa: N802
        self._note(context)
        try:
            await self._read(request_iterator)
            sequence, scenes = 0, self.scenes
            if self.later is not None:
                self.scenes = tuple(self.later)
            for scene in scenes:
                self.started.set()
                if isinstance(scene, asyncio.Event):
                    await scene.wait()
                elif isinstance(scene, Exception):
                    await fail(context, scene, TURN_ID)
                elif (response := response_from(scene)) is not None:
                    sequence += 1
                    response.sequence = sequence
                    yield response
        except asyncio.CancelledError:
            self.cancelled.set()
            raise

    async def Normalize(self, request_iterator: Any, context: Any) -> pb.NormalizeResponse:  # noqa: N802
        self._note(context)
        await self._read(request_iterator)
        for scene in self.scenes:
            if isinstance(scene, Exception):
                await fail(context, scene, TURN_ID)
        return normalized_from(NORMALIZED)

    def parts(self, kind: str) -> list[Any]:
        """Return the pieces of one kind that came."""
        return [getattr(request, kind) for request in self.requests if request.WhichOneof("step") == kind]

    def _note(self, context: Any) -> None:
        self.metadata = dict(context.invocation_metadata() or ())

    async def _read(self, requests: Any) -> None:
        async for request in requests:
            self.requests.append(request)
            self.has_setup.set()
            if not self.reads_all:
                return
