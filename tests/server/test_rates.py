"""Limits by tenant, subject and trust, over a real server: what policy sets is what callers meet."""

import asyncio
import json
from pathlib import Path
from shutil import copy
from typing import Any

import grpc
import pytest

from headworks.policy.bundles.sources import DEFAULT_FOLDER
from headworks.policy.identity.api_keys import digest_of
from headworks.policy.identity.settings import ApiKey, CredentialSettings
from headworks.policy.regorus import RegorusJudge
from headworks.policy.settings import RegorusSettings
from headworks.policy.verdict import Obligations
from headworks.server.rpc.settings import RpcSettings
from headworks.v1 import turn_pb2 as pb
from tests.fakes.clocks import HandClock
from tests.fakes.engines import FailingEngine, TalkingEngine
from tests.fakes.judges import AllowingJudge
from tests.policy.embedded import embedded_judge
from tests.server.edge import Edge, edge, failure_of, turn

EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED
DAY_SECONDS = 86_400
ANN_KEY, BOB_KEY = "ann-" + "0" * 32, "bob-" + "0" * 32
KEYS = CredentialSettings(
    keys=(
        ApiKey(digest_of(ANN_KEY), "local", "ann", roles=("analyst",)),
        ApiKey(digest_of(BOB_KEY), "local", "bob", roles=("analyst",)),
    )
)


def policy(folder: Path, **limits: Any) -> RegorusJudge:
    """Return the shipped policy, with limits of its one tenant beside those it has."""
    copy(DEFAULT_FOLDER / "headworks.rego", folder)
    data = json.loads((DEFAULT_FOLDER / "data.json").read_text())
    data["headworks"]["tenants"]["local"] |= limits
    (folder / "data.json").write_text(json.dumps(data))
    return embedded_judge(RegorusSettings(folder=folder))


async def answered(server: Edge, key: str = "") -> tuple[pb.Accepted, pb.Usage]:
    """Run one turn to its end, and return what its caller was told first and last."""
    metadata = (("authorization", f"Bearer {key}"),) if key else ()
    replies = [reply async for reply in server.stub.Converse(iter(turn("Hello")), metadata=metadata)]
    return replies[0].accepted, replies[-1].finished.usage


@pytest.mark.parametrize("name", ["turns_per_minute", "turns_per_day", "tokens_per_minute", "tokens_per_day"])
async def test_a_limit_in_the_data_denies_callers(name: str, tmp_path: Path) -> None:
    """Limiters that settings switched on and nothing asked denied nobody (litellm#27381)."""
    async with edge() as server:
        _, usage = await answered(server)
    allowed = 1 if name.startswith("turns") else usage.input_tokens + usage.output_tokens
    async with edge(judge=policy(tmp_path, **{name: allowed}), clock=HandClock()) as server:
        await answered(server)
        failure = await failure_of(server.stub.Converse(iter(turn("Hello"))))
        assert (failure.code, failure.reason) == (EXHAUSTED, "TOO_MANY")
        assert failure.metadata == {"limit": f"obligations.{name}", "allowed": str(allowed)}
        assert failure.retry_after_seconds is not None
        assert len(server.engine.requests) == 1


async def test_the_wait_for_a_day_is_true(tmp_path: Path) -> None:
    """A caller that is told a second, and comes back every second, learns nothing and costs much."""
    async with edge(judge=policy(tmp_path, turns_per_day=2)) as server:
        for _ in range(2):
            await answered(server)
        failure = await failure_of(server.stub.Converse(iter(turn("Hello"))))
        assert failure.retry_after_seconds == pytest.approx(DAY_SECONDS / 2, rel=0.01)


async def test_each_subject_has_its_own_budget_where_policy_says_so(tmp_path: Path) -> None:
    """The budget of an end user was ignored (litellm#11083); the subject comes from the key, never from the caller."""
    async with edge(judge=policy(tmp_path, turns_per_day=1, per_subject=True), credentials=KEYS) as server:
        await answered(server, ANN_KEY)
        metadata = (("authorization", f"Bearer {ANN_KEY}"), ("x-subject", "bob"), ("x-user", "bob"))
        failure = await failure_of(server.stub.Converse(iter(turn("Hello")), metadata=metadata))
        assert failure.metadata["limit"] == "obligations.turns_per_day"
        await answered(server, BOB_KEY)


async def test_less_trust_meets_tighter_limits(tmp_path: Path) -> None:
    """A caller without credentials, in clear, is trusted less than 1; the step for that holds it."""
    judge = policy(tmp_path, trust_steps=[{"below": 0.999, "turns_per_day": 1}])
    async with edge(judge=judge) as server:
        accepted, _ = await answered(server)
        assert accepted.verdict.trust < 0.999
        failure = await failure_of(server.stub.Converse(iter(turn("Hello"))))
        assert failure.metadata["limit"] == "obligations.turns_per_day"


async def test_a_limit_counts_while_the_answer_streams() -> None:
    """Where usage was booked after the stream, callers that came meanwhile all passed (aigw#2394).

    The first answer may still say all that is left of the day, so the second turn is refused before it has ended.
    """
    engine = TalkingEngine(tokens=200, pauses=True)
    async with edge(engine, AllowingJudge(Obligations(max_output_tokens=200, tokens_per_day=200))) as server:
        call = server.stub.Converse(iter(turn("Hello")))
        async for reply in call:
            if reply.WhichOneof("event") == "delta":
                break
        failure = await failure_of(server.stub.Converse(iter(turn("Hello"))))
        assert failure.metadata["limit"] == "obligations.tokens_per_day"
        call.cancel()
        await server.is_clean()
        engine.may_talk.set()
        assert server.meter.totals("local").output_tokens >= 1


async def spoken(call: Any) -> tuple[int, pb.Finished]:
    """Read an answer to its end; return its tokens and how it ended."""
    replies = [reply async for reply in call]
    return sum(len(reply.delta.token_ids) for reply in replies), replies[-1].finished


async def test_an_answer_is_cut_with_the_last_token_of_the_day() -> None:
    """A limit that applied after the stream was exceeded by every stream that ran (aigw#2394).

    The engine would say 200 tokens, and its own ceiling lets it; the day has 90 for prompt and answer together.
    """
    engine = TalkingEngine(tokens=200)
    obligations = Obligations(max_output_tokens=200, tokens_per_day=90, cut_answers=True)
    async with edge(engine, AllowingJudge(obligations), clock=HandClock()) as server:
        said, finished = await spoken(server.stub.Converse(iter(turn("Hello"))))
        assert finished.reason == pb.FINISH_REASON_LENGTH
        assert said == finished.usage.output_tokens == 90 - finished.usage.input_tokens
        assert finished.usage.allowances[0].remaining == 0
        await server.is_clean()
        assert len(engine.closed) == 1
        failure = await failure_of(server.stub.Converse(iter(turn("Hello"))))
        assert failure.metadata["limit"] == "obligations.tokens_per_day"


async def test_hundreds_at_once_cannot_exceed_a_cut_day() -> None:
    """However many stream together, they say what the day has."""
    judge = AllowingJudge(Obligations(tokens_per_day=5_000, cut_answers=True))
    rpc = RpcSettings(port=0, max_connection_streams=200)
    async with edge(TalkingEngine(tokens=200), judge, rpc=rpc, clock=HandClock()) as server:
        calls = [server.stub.Converse(iter(turn("Hello"))) for _ in range(200)]
        codes = await asyncio.gather(*(_code(call) for call in calls))
        assert set(codes) == {grpc.StatusCode.OK, EXHAUSTED}
        totals = server.meter.totals("local")
        assert 4_000 < totals.input_tokens + totals.output_tokens <= 5_000


async def test_an_answer_that_fits_is_not_cut() -> None:
    """The option shortens nothing while there is enough."""
    obligations = Obligations(tokens_per_day=10_000, cut_answers=True)
    async with edge(judge=AllowingJudge(obligations)) as server:
        said, finished = await spoken(server.stub.Converse(iter(turn("Hello"))))
        assert (said, finished.reason) == (4, pb.FINISH_REASON_STOP)


async def test_what_is_left_falls_with_every_turn() -> None:
    """A counter that never falls is no counter (aigw#1754); the first reply has it as well as the last."""
    obligations = Obligations(turns_per_day=9, tokens_per_day=10**6, tokens_per_minute=10**6)
    async with edge(judge=AllowingJudge(obligations)) as server:
        seen = [await answered(server) for _ in range(3)]
    turns = [accepted.allowances[0] for accepted, _ in seen]
    assert [(left.limit, left.allowed, left.remaining) for left in turns] == [
        ("obligations.turns_per_day", 9, remaining) for remaining in (8, 7, 6)
    ]
    assert turns[2].full_in.ToTimedelta().total_seconds() == pytest.approx(3 * DAY_SECONDS / 9, rel=0.01)
    for _, usage in seen:
        assert [left.limit for left in usage.allowances] == [
            "obligations.tokens_per_minute",
            "obligations.tokens_per_day",
        ]
        assert usage.allowances[0].remaining == usage.remaining_tokens_per_minute
    used = [usage.input_tokens + usage.output_tokens for _, usage in seen]
    days = [usage.allowances[1].remaining for _, usage in seen]
    for number, remaining in enumerate(days, 1):
        assert remaining == pytest.approx(10**6 - sum(used[:number]), abs=12 * 5), "it refills by 12 tokens a second"
    assert days == sorted(set(days), reverse=True)


async def test_a_second_attempt_is_not_charged_again() -> None:
    """One turn of a caller's is one turn, however often the engine was asked (smg PR#2016)."""
    obligations = Obligations(turns_per_day=9, tokens_per_day=86_400)
    left = []
    for failures in (0, 1):
        async with edge(FailingEngine(failures), AllowingJudge(obligations)) as server:
            accepted, usage = await answered(server)
            assert len(server.engine.requests) == 1 + failures
            assert accepted.allowances[0].remaining == 8
            assert server.meter.totals("local").input_tokens == usage.input_tokens == len(server.engine.prompts[-1])
            left.append(usage.allowances[0].remaining)
    assert left[1] == pytest.approx(left[0], abs=5)


async def test_no_budget_never_denies() -> None:
    """A tenant without a budget was held to one of nothing (litellm#20615)."""
    async with edge(judge=AllowingJudge(Obligations())) as server:
        for _ in range(20):
            accepted, usage = await answered(server)
            assert not accepted.allowances
            assert not usage.allowances
            assert not usage.HasField("remaining_tokens_per_minute")


async def test_fifty_calls_at_once_share_a_day_exactly() -> None:
    """Seven may start, and seven do."""
    async with edge(judge=AllowingJudge(Obligations(turns_per_day=7))) as server:
        calls = [server.stub.Converse(iter(turn("Hello"))) for _ in range(50)]
        codes = await asyncio.gather(*(_code(call) for call in calls))
        assert (codes.count(grpc.StatusCode.OK), codes.count(EXHAUSTED)) == (7, 43)


async def _code(call: Any) -> grpc.StatusCode:
    try:
        async for _ in call:
            pass
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK
