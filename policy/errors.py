"""The errors between a question and its verdict."""

from enum import StrEnum


class PolicyError(Exception):
    """The base of every error that policy raises on purpose."""


class UnknownCaller(PolicyError):
    """No credentials, or none that are valid. The message never repeats them."""


class IssuerUnavailable(PolicyError):
    """The keys of a token's issuer are not known and cannot be fetched now; nobody is let in by guesswork."""


class PolicyBroken(PolicyError):
    """The policy or its data does not load or does not compile. The operator has to mend it."""


class NoVerdict(StrEnum):
    """Why there is no verdict."""

    DOWN = "JUDGE_DOWN"
    """The judge cannot be reached, is closed, or has a broken policy."""
    SLOW = "JUDGE_SLOW"
    """It did not answer in time."""
    UNDEFINED = "JUDGE_UNDEFINED"
    """The rule that it was asked for has no value for this question."""
    ODD = "JUDGE_ODD"
    """It failed on this question, or its answer does not have the shape that counts."""


class JudgeUnavailable(PolicyError):
    """The judge gave no verdict; the turn is refused.

    Args:
        reason: Which way it failed.
        decision_id: The id that the caller can quote.
    """

    def __init__(self, reason: NoVerdict, decision_id: str) -> None:
        super().__init__(f"no verdict ({reason.value}), decision {decision_id}")
        self.reason = reason
        self.decision_id = decision_id
