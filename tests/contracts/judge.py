"""What every `Judge` must do, whatever stands behind it."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from headworks.policy.errors import JudgeUnavailable, NoVerdict
from headworks.policy.facts import MODALITIES
from headworks.policy.judge import Judge
from headworks.policy.question import Question
from headworks.policy.verdict import Verdict

_CODE = re.compile(r"[A-Z][A-Z0-9_]*")


async def check_judge(make: Callable[[], Judge], questions: list[Question]) -> None:
    """Hold a judge to its port.

    Args:
        make: Makes a judge that can answer every one of `questions`; called more than once.
        questions: At least one.
    """
    await _answers_are_well_formed(make(), questions)
    await _answers_do_not_mix(make(), questions)
    await _a_cancelled_question_harms_no_other(make(), questions[0])
    await _closed_is_down(make(), questions[0])
    await _unused_closes(make())


async def _answers_are_well_formed(judge: Judge, questions: list[Question]) -> None:
    await judge.warm()
    await judge.warm()
    first = [await judge.judge(question) for question in questions]
    again = [await judge.judge(question) for question in questions]
    await judge.close()
    for verdict in first:
        _check_verdict(verdict)
    assert len({verdict.decision_id for verdict in first + again}) == 2 * len(questions), "decision ids are unique"
    assert [_decided(verdict) for verdict in first] == [_decided(verdict) for verdict in again], "no memory"


async def _answers_do_not_mix(judge: Judge, questions: list[Question]) -> None:
    alone = [_decided(await judge.judge(question)) for question in questions]
    crowd = await asyncio.gather(*(judge.judge(question) for question in questions * 8))
    await judge.close()
    assert [_decided(verdict) for verdict in crowd] == alone * 8


async def _a_cancelled_question_harms_no_other(judge: Judge, question: Question) -> None:
    expected = _decided(await judge.judge(question))
    task = asyncio.create_task(judge.judge(question))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.done()
    assert _decided(await judge.judge(question)) == expected
    await judge.close()


async def _closed_is_down(judge: Judge, question: Question) -> None:
    await judge.warm()
    await judge.close()
    await judge.close()
    with pytest.raises(JudgeUnavailable) as refused:
        await judge.judge(question)
    assert refused.value.reason is NoVerdict.DOWN
    assert refused.value.decision_id


async def _unused_closes(judge: Judge) -> None:
    await judge.close()


def _check_verdict(verdict: Verdict) -> None:
    assert verdict.decision_id
    assert verdict.judge
    assert all(_CODE.fullmatch(reason) for reason in verdict.reasons)
    assert verdict.allow or verdict.reasons, "a refusal says why"
    assert set(verdict.obligations.modalities) <= set(MODALITIES)
    assert verdict.allow or not verdict.obligations.modalities, "a refused turn may carry nothing"


def _decided(verdict: Verdict) -> Verdict:
    return replace(verdict, decision_id="")
