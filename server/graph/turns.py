"""The graph's port to turns, over the turn runner."""

from collections.abc import AsyncIterator

from headworks.graphql.ports.turns import Failed, Finished, Refused, TurnOutcome, TurnRequest
from headworks.intake.span import Modality
from headworks.server.flow.service_class import ServiceClass
from headworks.server.status import status_of
from headworks.server.turn import steps
from headworks.server.turn.errors import TurnRefused
from headworks.server.turn.runner import TurnRunner, new_turn_id
from headworks.server.visit.visit import Visit


class RunnerTurns:
    """Runs the turns of one visit: whole turns of text, by the runner that gRPC uses too."""

    def __init__(self, runner: TurnRunner, visit: Visit) -> None:
        self._runner = runner
        self._visit = visit

    async def run(self, turn: TurnRequest) -> TurnOutcome:
        """See `Turns`."""
        turn_id = new_turn_id()
        text: list[str] = []
        ends: list[steps.Finished] = []

        async def sink(event: steps.Event) -> None:
            match event:
                case steps.Delta():
                    text.append(event.text)
                case steps.Finished():
                    ends.append(event)

        service_class = ServiceClass.BATCH if turn.is_batch else ServiceClass.INTERACTIVE
        try:
            self._runner.knock(self._visit, service_class, None)
            await self._runner.converse(self._visit, _steps(turn, service_class), sink, turn_id=turn_id)
        except TurnRefused as error:
            return Refused(error.verdict.decision_id, error.verdict.reasons)
        except Exception as error:
            if (status := status_of(error)) is None:
                raise
            return Failed(status.reason, status.message, turn_id)
        end = ends[0]
        return Finished(
            turn_id=turn_id,
            text="".join(text),
            finish_reason=end.reason.name,
            input_tokens=end.usage.input_tokens,
            output_tokens=end.usage.output_tokens,
            verdict=end.judgement.verdict,
            trust=end.judgement.trust.score,
        )


async def _steps(turn: TurnRequest, service_class: ServiceClass) -> AsyncIterator[steps.Step]:
    yield steps.Setup(
        instructions=turn.instructions,
        purpose=turn.purpose,
        max_output_tokens=turn.max_output_tokens or 0,
        temperature=turn.temperature or 0.0,
        seed=turn.seed,
        service_class=service_class,
    )
    for text in turn.texts:
        yield steps.Chunk(Modality.TEXT, text.encode(), is_last=True)
