"""GraphQL's port to turns, over the turn runner."""

from collections.abc import AsyncIterator

from headworks.graphql.turn.port import Failed, Finished, Refused, TurnOutcome, TurnRequest
from headworks.intake.span import Modality
from headworks.policy.identity.caller import Caller
from headworks.server.status import status_of
from headworks.server.turn import steps
from headworks.server.turn.errors import TurnRefused
from headworks.server.turn.runner import TurnRunner, new_turn_id
from headworks.server.visit.visit import Visit


class RunnerTurns:
    """Whole turns of text, by the same runner as gRPC's."""

    def __init__(self, runner: TurnRunner, *, is_encrypted: bool, is_loopback: bool) -> None:
        """Run turns.

        Args:
            is_encrypted: HTTP is served over TLS.
            is_loopback: HTTP listens on loopback only, so every peer is on this machine.
        """
        self._runner = runner
        self._is_encrypted = is_encrypted
        self._is_loopback = is_loopback

    async def run(self, caller: Caller, turn: TurnRequest) -> TurnOutcome:
        turn_id = new_turn_id()
        visit = Visit(caller, is_encrypted=self._is_encrypted, is_loopback=self._is_loopback)
        text: list[str] = []
        ends: list[steps.Finished] = []

        async def sink(event: steps.Event) -> None:
            match event:
                case steps.Delta():
                    text.append(event.text)
                case steps.Finished():
                    ends.append(event)

        try:
            await self._runner.converse(visit, _steps(turn), sink, turn_id=turn_id)
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


async def _steps(turn: TurnRequest) -> AsyncIterator[steps.Step]:
    yield steps.Setup(
        instructions=turn.instructions,
        purpose=turn.purpose,
        max_output_tokens=turn.max_output_tokens or 0,
        temperature=turn.temperature or 0.0,
        seed=turn.seed,
    )
    for text in turn.texts:
        yield steps.Chunk(Modality.TEXT, text.encode(), is_last=True)
