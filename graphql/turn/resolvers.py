"""The resolver that runs a turn."""

from typing import assert_never

from headworks.graphql.context import RequestInfo
from headworks.graphql.ports.turns import Failed, Finished, Refused, TurnOutcome
from headworks.graphql.turn.types import TurnFailed, TurnFinished, TurnInput, TurnRefused


async def turn(info: RequestInfo, input: TurnInput) -> TurnFinished | TurnRefused | TurnFailed:  # noqa: A002
    return turn_result(await info.context.turns.run(input.to_port()))


def turn_result(outcome: TurnOutcome) -> TurnFinished | TurnRefused | TurnFailed:
    """Write a turn's outcome for the reader of the graph."""
    match outcome:
        case Finished():
            return TurnFinished.of(outcome)
        case Refused():
            return TurnRefused(decision_id=outcome.decision_id, reasons=list(outcome.reasons))
        case Failed():
            return TurnFailed(code=outcome.code, message=outcome.message, turn_id=outcome.turn_id)
        case _:
            assert_never(outcome)
