"""The port to policy."""

from typing import Protocol

from headworks.policy.question import Question
from headworks.policy.verdict import Verdict


class Judge(Protocol):
    """Answers questions from policy. It fails shut: whatever is not a clear allow is no allow."""

    async def judge(self, question: Question) -> Verdict:
        """Decide.

        Raises:
            JudgeUnavailable: no answer in time, or none that makes sense (down, slow, undefined, odd);
                its `reason` says which. The caller must treat it as a refusal.
        """
        ...

    async def warm(self) -> None:
        """Make the first real question as fast as the later ones.

        Raises:
            JudgeUnavailable: as `judge`.
            PolicyBroken: the policy does not compile.
        """
        ...

    async def close(self) -> None:
        """Let go of connections and threads; may be called twice."""
        ...
