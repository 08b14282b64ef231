"""The fakes are held to the contract of the real ones."""

import asyncio
from collections.abc import Callable

import pytest

from headworks.policy.errors import JudgeUnavailable, NoVerdict
from headworks.policy.judge import Judge
from headworks.policy.question import Stage
from tests.contracts.judge import check_judge
from tests.fakes.judges import AllowingJudge, BrokenJudge, DenyingJudge, SilentJudge
from tests.policy.questions import question


@pytest.mark.parametrize("make", [AllowingJudge, DenyingJudge, lambda: DenyingJudge(Stage.INPUT)])
async def test_fakes_are_judges(make: Callable[[], Judge]) -> None:
    """So that what passes with a fake passes with regorus and OPA."""
    await check_judge(make, [question(), question(stage="open")])


async def test_a_denying_judge_refuses_its_stage_only() -> None:
    """Tests of a turn choose where it is refused."""
    judge = DenyingJudge(stage=Stage.INPUT, reason="NO")
    assert (await judge.judge(question(stage="open"))).allow
    assert (await judge.judge(question(stage="input"))).reasons == ("NO",)
    assert [asked.stage for asked in judge.questions] == [Stage.OPEN, Stage.INPUT]


async def test_a_broken_judge_says_how() -> None:
    """With a decision id, like a real one."""
    with pytest.raises(JudgeUnavailable) as refused:
        await BrokenJudge(NoVerdict.SLOW).judge(question())
    assert refused.value.reason is NoVerdict.SLOW


async def test_a_silent_judge_waits_until_cancelled() -> None:
    """It stands for a judge whose own time limit failed; the turn's deadline must end it."""
    judge = SilentJudge()
    task = asyncio.create_task(judge.judge(question()))
    await judge.asked.wait()
    assert not task.done()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
