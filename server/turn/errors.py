"""What can go wrong in a turn, named for what is wrong. `status.py` says which status each one is."""

from headworks.policy.verdict import Verdict


class TurnError(Exception):
    """Base of all that a turn raises on purpose."""


class OutOfOrder(TurnError):
    """A step came where it may not: no setup, a second one, input after the end."""


class BadRequest(TurnError):
    """A value in a step is outside what the contract allows; the sentence names the field."""


class UnknownModel(TurnError):
    """The turn asks for a model that is not served here."""


class TooMany(TurnError):
    """A limit on how much at once, or on how much a minute, is reached.

    Args:
        limit: What holds it, the setting ("flow.max_turns") or the verdict ("obligations.turns_per_minute").
        allowed: Its value.
        retry_after_seconds: When trying again makes sense.
    """

    def __init__(self, limit: str, allowed: int, retry_after_seconds: float) -> None:
        super().__init__(f"{limit} allows {allowed}; try again in {retry_after_seconds:.1f} s")
        self.limit = limit
        self.allowed = allowed
        self.retry_after_seconds = retry_after_seconds


class Draining(TurnError):
    """The server finishes what it has and takes nothing new."""


class TurnRefused(TurnError):
    """Policy said no."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(f"policy refused the turn ({', '.join(verdict.reasons)}), decision {verdict.decision_id}")
        self.verdict = verdict


class TurnTimedOut(TurnError):
    """The caller's deadline or one of the server's own time limits passed.

    Args:
        limit: "deadline" is the caller's own; any other is the setting ("turn.input.idle_seconds").
    """

    def __init__(self, limit: str) -> None:
        super().__init__(f"the turn ran past {limit}")
        self.limit = limit


class EngineUnavailable(TurnError):
    """The engine could not take the turn; no token was made, so trying again is safe."""


class EngineBroken(TurnError):
    """The engine failed after the first token; trying again would repeat text."""
