"""The graph's port to turns, over the runner that gRPC uses."""

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from headworks.graphql.ports.turns import Failed, Finished, Refused, TurnRequest
from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.server.graph.turns import RunnerTurns
from headworks.server.visit.visit import Visit
from tests.contracts.turns import check_turns
from tests.fakes.engines import TalkingEngine
from tests.fakes.graph import AnsweringTurns
from tests.fakes.judges import AllowingJudge, DenyingJudge
from tests.server.edge import Edge, edge

VISIT = Visit(
    Caller("acme", "ann", AuthenticatedBy.API_KEY),
    is_encrypted=False,
    is_loopback=False,
    trace_headers={"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
    peer="203.0.113.7",
)
HELLO = TurnRequest(("Hello.",))
OUT_OF_RANGE = {
    "a negative ceiling": {"max_output_tokens": -5},
    "a ceiling over the limit": {"max_output_tokens": 2**31 - 1},
    "a temperature over two": {"temperature": 50.0},
    "a temperature that is near infinite": {"temperature": 1e300},
    "an infinite temperature": {"temperature": math.inf},
    "a temperature that is no number": {"temperature": math.nan},
    "a negative temperature": {"temperature": -0.1},
    "a long purpose": {"purpose": "x" * 3_000},
    "a purpose long in bytes": {"purpose": "é" * 33},
    "long instructions": {"instructions": "x" * 5_000},
    "a seed of more than 64 bits": {"seed": 2**63},
}


@asynccontextmanager
async def turns_over(*fakes: Any, **options: Any) -> AsyncIterator[tuple[RunnerTurns, Edge]]:
    async with edge(*fakes, **options) as server:
        yield RunnerTurns(server.runner, VISIT), server


async def test_turns_over_the_runner_keep_the_contract() -> None:
    """Finished, refused and failed alike, and cancelled ones harm nobody."""
    async with (
        turns_over() as (finishing, _),
        turns_over(judge=DenyingJudge()) as (refusing, _),
        turns_over(TalkingEngine(max_model_tokens=1)) as (failing, _),
    ):
        await check_turns(finishing, refusing, failing)


async def test_the_fake_keeps_the_contract() -> None:
    """Else the graph's own tests would prove nothing."""
    refusing = AnsweringTurns(Refused("dec-9", ("TRUST_TOO_LOW",)))
    failing = AnsweringTurns(Failed("ENGINE_UNAVAILABLE", "no engine takes turns now"))
    await check_turns(AnsweringTurns(), refusing, failing)


@pytest.mark.parametrize("fault", OUT_OF_RANGE)
async def test_a_setup_out_of_range_is_the_callers_mistake(fault: str) -> None:
    """The graph's types have no ranges, so the setup's own check is what holds them."""
    async with turns_over() as (turns, server):
        outcome = await turns.run(replace(HELLO, **OUT_OF_RANGE[fault]))  # type: ignore[arg-type]
        assert isinstance(outcome, Failed)
        assert outcome.code == "BAD_REQUEST"
        assert "setup." in outcome.message
        assert server.engine.requests == []
        assert isinstance(await turns.run(HELLO), Finished)


@pytest.mark.parametrize("texts", [(), ("",)], ids=["no text", "an empty text"])
async def test_a_turn_without_text_is_the_callers_mistake(texts: tuple[str, ...]) -> None:
    """As over gRPC."""
    async with turns_over() as (turns, _):
        outcome = await turns.run(TurnRequest(texts))
        assert isinstance(outcome, Failed)
        assert outcome.code == "BAD_MEDIA"


async def test_policy_and_record_see_how_the_request_came() -> None:
    """An unencrypted caller from elsewhere is trusted less; its trace goes on, and its tenant pays."""
    judge = AllowingJudge()
    async with turns_over(judge=judge) as (turns, server):
        finished = await turns.run(HELLO)
        assert isinstance(finished, Finished)
        assert finished.trust < 1
        assert all(question.caller == VISIT.caller for question in judge.questions)
        assert dict(judge.questions[0].trust.factors).keys() == {"clear_transport"}
        (record,) = server.recorder.finished
        assert record.trace_headers == VISIT.trace_headers
        assert server.meter.totals("acme").turns == 1
