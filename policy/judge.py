"""The port to policy: the gateway asks a judge, whatever stands behind it."""

from typing import Protocol

from headworks.policy.question import Question
from headworks.policy.verdict import Verdict


class Judge(Protocol):
    """A judge answers questions from policy. It fails shut: whatever is not a clear allow is no allow."""

    async def judge(self, question: Question) -> Verdict:
        """Decide one question.

        Raises:
            JudgeUnavailable: there is no answer in time, or none that makes sense; its `reason` says which way the
                judge failed. The caller must treat it as a refusal.
        """
        ...

    async def warm(self) -> None:
        """See that the judge answers, and make the first real question as fast as the later ones.

        Raises:
            JudgeUnavailable: as for `judge`.
            PolicyBroken: the policy does not compile, or is too slow.
        """
        ...

    async def close(self) -> None:
        """Let go of connections and engines. It may be called twice; afterwards the judge is down."""
        ...
