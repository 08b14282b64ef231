"""The port to turns. Its adapter is `RunnerTurns` in `server/graph/turns.py`, over the turn runner that gRPC uses."""

from dataclasses import dataclass
from typing import Protocol

from headworks.policy.verdict import Verdict


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """A whole turn of text."""

    texts: tuple[str, ...]
    """One text part each."""
    purpose: str = ""
    """What the caller says the turn is for."""
    instructions: str = ""
    """The system role's text; "" for the model's own."""
    max_output_tokens: int | None = None
    """None for the gateway's default."""
    temperature: float | None = None
    """None or 0 is greedy."""
    seed: int | None = None
    is_batch: bool = False
    """Nobody waits: interactive turns may go first."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The turn ended well."""

    turn_id: str
    text: str
    finish_reason: str
    """In UPPER_SNAKE, as the contract's enum names it without its prefix ("STOP", "LENGTH")."""
    input_tokens: int
    output_tokens: int
    verdict: Verdict
    """The last one that let the turn go on."""
    trust: float
    """The score that this verdict rests on, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Policy refused the turn."""

    decision_id: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn did not come to an end."""

    code: str
    """The reason as the contract names it ("TOO_LARGE", "ENGINE_UNAVAILABLE")."""
    message: str
    """What a gRPC client would have read in the status."""
    turn_id: str = ""
    """"" when the turn was never opened."""


TurnOutcome = Finished | Refused | Failed


class Turns(Protocol):
    """Runs the turns of one request, by the same rules as the gRPC service.

    Each request brings its own, made for its caller: policy weighs how a request came, and the graph knows no
    transport.
    """

    async def run(self, turn: TurnRequest) -> TurnOutcome:
        """Run one turn to its end; cancelling the call ends the turn and tells the engine."""
        ...
