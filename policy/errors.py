"""What can go wrong between a question and its verdict."""

from enum import StrEnum


class PolicyError(Exception):
    """Base of all that policy raises on purpose."""


class UnknownCaller(PolicyError):
    """No credentials, or none that are valid. The message never repeats them."""


class PolicyBroken(PolicyError):
    """The policy or its data does not compile or load; the operator's task."""


class NoVerdict(StrEnum):
    """Why there is no verdict."""

    DOWN = "JUDGE_DOWN"
    SLOW = "JUDGE_SLOW"
    UNDEFINED = "JUDGE_UNDEFINED"
    ODD = "JUDGE_ODD"


class JudgeUnavailable(PolicyError):
    """The judge gave no verdict; the turn is refused.

    Args:
        reason: Which way it failed.
        decision_id: What the caller can quote.
    """

    def __init__(self, reason: NoVerdict, decision_id: str) -> None:
        super().__init__(f"no verdict ({reason.value}), decision {decision_id}")
        self.reason = reason
        self.decision_id = decision_id
