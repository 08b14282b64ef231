"""Verdicts that still hold, because nothing has changed that the policy reads."""

from collections import OrderedDict
from collections.abc import Hashable

from headworks.policy.question import Question
from headworks.policy.question_input import ReadParts
from headworks.policy.reads import Reads
from headworks.policy.verdict import Verdict


class VerdictMemory:
    """Keeps verdicts of one revision of one policy. A policy that reads a clock, chance or the network is not kept."""

    def __init__(self, reads: Reads, most: int) -> None:
        """Remember nothing yet.

        Args:
            most: Verdicts that are kept; the one used longest ago makes room.
        """
        self._parts = ReadParts(reads)
        self._most = most if reads.is_repeatable else 0
        self._verdicts: OrderedDict[Hashable, Verdict] = OrderedDict()

    def find(self, question: Question) -> Verdict | None:
        """Return what was decided about a question that is equal in all that the policy reads."""
        if not self._most:
            return None
        key = self._parts.values(question)
        verdict = self._verdicts.get(key)
        if verdict is not None:
            self._verdicts.move_to_end(key)
        return verdict

    def keep(self, question: Question, verdict: Verdict) -> None:
        """Remember a verdict about a question."""
        if not self._most:
            return
        self._verdicts[self._parts.values(question)] = verdict
        if len(self._verdicts) > self._most:
            self._verdicts.popitem(last=False)
