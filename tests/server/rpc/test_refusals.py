"""What a caller is told when policy lets nothing through, whatever the reason."""

import shutil
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

from headworks.policy.bundles.sources import DEFAULT_FOLDER
from headworks.policy.question import Question
from headworks.policy.settings import RegorusSettings
from headworks.policy.verdict import Verdict
from tests.fakes.judges import AllowingJudge
from tests.policy.embedded import embedded_judge
from tests.server.edge import edge, failure_of, turn


class FailingJudge(AllowingJudge):
    """Breaks its port: it raises what it was given."""

    def __init__(self, fault: Callable[[], Exception]) -> None:
        super().__init__()
        self._fault = fault

    def _verdict(self, question: Question) -> Verdict:
        raise self._fault()


async def test_rate_of_zero_is_never_retried(tmp_path: Path) -> None:
    """An operator closes a tenant with `turns_per_minute: 0`.

    As an odd answer it was UNAVAILABLE, and every client came back a second later, for ever.
    """
    shutil.copy(DEFAULT_FOLDER / "headworks.rego", tmp_path)
    data = (DEFAULT_FOLDER / "data.json").read_text()
    (tmp_path / "data.json").write_text(data.replace('"turns_per_minute": 6000', '"turns_per_minute": 0'))
    judge = embedded_judge(RegorusSettings(folder=tmp_path))
    async with edge(judge=judge) as server:
        failure = await failure_of(server.stub.Converse(iter(turn("Hello"))))
        assert (failure.code, failure.reason) == (grpc.StatusCode.PERMISSION_DENIED, "TURN_REFUSED")
        assert failure.metadata["reasons"] == "TURNS_PER_MINUTE_IS_ZERO"
        assert failure.metadata["decision_id"]
        assert failure.retry_after_seconds is None
        assert server.engine.requests == []
    await judge.close()


@pytest.mark.parametrize(
    "fault",
    [RuntimeError, KeyError, ValueError, AssertionError, TimeoutError, OSError, RecursionError, StopAsyncIteration],
)
async def test_a_judge_that_breaks_lets_nothing_through(fault: type[Exception]) -> None:
    """A judge should raise JudgeUnavailable only; one that raises anything else has not allowed the turn either."""
    async with edge(judge=FailingJudge(fault)) as server:
        failure = await failure_of(server.stub.Converse(iter(turn("Hello"))))
        assert failure.code in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNAVAILABLE)
        assert server.engine.requests == []
