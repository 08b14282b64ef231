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
