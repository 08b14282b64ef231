"""Judges by behaviour. Each keeps the questions it was asked, oldest first."""

import asyncio
from dataclasses import replace

from headworks.policy.decision import new_decision_id
from headworks.policy.errors import JudgeUnavailable, NoVerdict
from headworks.policy.facts import MODALITIES
from headworks.policy.question import Question, Stage
from headworks.policy.verdict import Obligations, Verdict


class AllowingJudge:
    """Allows everything, under the obligations it was given; every modality where they name none."""

    def __init__(self, obligations: Obligations | None = None) -> None:
        given = obligations or Obligations()
        self._obligations = replace(given, modalities=given.modalities or MODALITIES)
        self.questions: list[Question] = []
        self.is_closed = False

    async def judge(self, question: Question) -> Verdict:
        self.questions.append(question)
        if self.is_closed:
            raise JudgeUnavailable(NoVerdict.DOWN, new_decision_id())
        return self._verdict(question)

    async def warm(self) -> None:
        pass

    async def close(self) -> None:
        self.is_closed = True

    def _verdict(self, question: Question) -> Verdict:
        return Verdict(
            allow=True, decision_id=new_decision_id(), reasons=(), judge="fake", obligations=self._obligations
        )


class DenyingJudge(AllowingJudge):
    """Refuses at one stage, or at every one when `stage` is None."""

    def __init__(
        self,
        stage: Stage | None = None,
        reason: str = "REFUSED_BY_TEST",
        obligations: Obligations | None = None,
    ) -> None:
        super().__init__(obligations)
        self._stage = stage
        self._reason = reason

    def _verdict(self, question: Question) -> Verdict:
        if self._stage not in (None, question.stage):
            return super()._verdict(question)
        return Verdict(
            allow=False,
            decision_id=new_decision_id(),
            reasons=(self._reason,),
            judge="fake",
        )


class SilentJudge(AllowingJudge):
    """Never answers; `asked` is set once it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def judge(self, question: Question) -> Verdict:
        self.questions.append(question)
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError("unreachable")


class BrokenJudge(AllowingJudge):
    """Has no verdict, for the reason given."""

    def __init__(self, reason: NoVerdict = NoVerdict.DOWN) -> None:
        super().__init__()
        self._reason = reason

    def _verdict(self, question: Question) -> Verdict:
        raise JudgeUnavailable(self._reason, new_decision_id())
