import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opa_bindings import OpaEngine

from headworks.policy.answer import verdict_from
from headworks.policy.bundles.bundle import pack, read_bundle
from headworks.policy.bundles.sources import DEFAULT_FOLDER, read_folder
from headworks.policy.errors import JudgeUnavailable
from headworks.policy.question import Question
from headworks.policy.question_input import question_input
from headworks.policy.regorus import RegorusJudge
from headworks.policy.settings import RegorusSettings
from headworks.policy.verdict import Obligations, Verdict
from tests.policy.conftest import TABLE
from tests.policy.embedded import embedded_judge
from tests.policy.opa_server import engine_for
from tests.policy.questions import question
from tests.strategies import json_values, questions

RULE = "headworks.turn.decision"
ROWS: list[dict[str, Any]] = TABLE["rows"]


@pytest.fixture(scope="module")
def judge(folder: Path) -> Iterator[RegorusJudge]:
    made = embedded_judge(RegorusSettings(folder=folder))
    yield made
    asyncio.run(made.close())


@pytest.fixture(scope="module")
def oracle(folder: Path) -> Iterator[OpaEngine]:
    """OPA's own engine with the policy as it leaves in a bundle."""
    sources, _ = read_bundle(pack(read_folder(folder)).content)
    with engine_for(sources) as engine:
        yield engine


def by_oracle(oracle: OpaEngine, asked: Question) -> Verdict:
    document = oracle.eval_document(RULE, question_input(asked))
    return verdict_from(document, judge="opa", decision_id="", revision="")


def plain(verdict: Verdict) -> Verdict:
    return replace(verdict, decision_id="", judge="opa", revision="")


@pytest.mark.parametrize("row", ROWS, ids=[row["claim"] for row in ROWS])
async def test_the_truth_table_holds(row: dict[str, Any], judge: RegorusJudge, oracle: OpaEngine) -> None:
    """Each row by both engines: regorus decides as OPA does."""
    asked = question(**row["question"])
    verdict = await judge.judge(asked)
    assert (verdict.allow, sorted(verdict.reasons)) == (not row["reasons"], row["reasons"])
    assert plain(verdict) == by_oracle(oracle, asked)


async def test_obligations_are_the_narrower_of_tenant_and_role(judge: RegorusJudge) -> None:
    """A role may narrow what its tenant has, and the other way round."""
    asked = question(
        tenant="clinic",
        authenticated_by="api_key",
        roles=["analyst"],
        attributes={"region": "eu"},
        model="med-7b",
    )
    assert (await judge.judge(asked)).obligations == Obligations(
        max_input_tokens=500,
        max_output_tokens=700,
        turns_per_minute=60,
        tokens_per_minute=10000,
        modalities=("table", "text"),
        max_bytes=(("table", 1000), ("text", 1000)),
    )
    reader = (await judge.judge(question(roles=["reader"]))).obligations
    assert (reader.max_output_tokens, reader.modalities) == (512, ("text",))


STEPPED = Obligations(
    max_input_tokens=500,
    max_output_tokens=700,
    turns_per_minute=60,
    tokens_per_minute=10000,
    turns_per_second=5,
    turns_per_day=1000,
    tokens_per_second=2000,
    tokens_per_day=900000,
    max_concurrent_turns=4,
    weight=2.5,
    per_subject=True,
    cut_answers=True,
    modalities=("text",),
    max_bytes=(("text", 1000),),
)
BELOW_07 = replace(STEPPED, max_output_tokens=600, max_concurrent_turns=2)
BELOW_04 = replace(BELOW_07, max_output_tokens=100, tokens_per_day=5000, turns_per_minute=3)


@pytest.mark.parametrize(
    ("trust", "obligations"), [(1.0, STEPPED), (0.7, STEPPED), (0.69, BELOW_07), (0.4, BELOW_07), (0.39, BELOW_04)]
)
async def test_ceilings_tighten_in_steps_as_trust_falls(
    trust: float, obligations: Obligations, judge: RegorusJudge, oracle: OpaEngine
) -> None:
    """The least of tenant, role and all steps that hold; a step that names more than the tenant widens nothing."""
    asked = question(tenant="stepped", trust=trust)
    verdict = await judge.judge(asked)
    assert verdict.obligations == obligations
    assert plain(verdict) == by_oracle(oracle, asked)


async def test_a_role_stays_narrower_than_a_step(judge: RegorusJudge) -> None:
    """The step allows 600 tokens, the role 512."""
    verdict = await judge.judge(question(tenant="stepped", trust=0.5, roles=["reader"]))
    assert verdict.obligations.max_output_tokens == 512


@given(questions())
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_regorus_and_opa_decide_alike(judge: RegorusJudge, oracle: OpaEngine, asked: Question) -> None:
    """Differential: OPA's Go engine is the oracle."""
    assert plain(asyncio.run(judge.judge(asked))) == by_oracle(oracle, asked)


@given(st.sampled_from([*question_input(question())]), json_values)
@settings(max_examples=200)
def test_no_input_turns_an_error_into_an_allow(oracle: OpaEngine, part: str, value: object) -> None:
    """Any part of an allowed input replaced by anything is refused, or is as good as what stood there."""
    asked: dict[str, Any] = {**question_input(question()), part: value}
    try:
        allow = verdict_from(
            oracle.eval_document(RULE, json.loads(json.dumps(asked).replace("NaN", "0").replace("Infinity", "9"))),
            judge="opa",
            decision_id="",
            revision="",
        ).allow
    except JudgeUnavailable:
        return
    assert not allow or part in ("turn_id", "purpose", "max_output_tokens") or isinstance(value, str)


@pytest.mark.parametrize("part", ["stage", "caller", "model", "input", "trust"])
def test_a_missing_part_refuses(oracle: OpaEngine, part: str) -> None:
    """Undefined is not true: each requirement must be shown to hold."""
    asked = {name: value for name, value in question_input(question()).items() if name != part}
    assert oracle.eval_document(RULE, asked)["allow"] is False


@pytest.mark.parametrize("wrong", ["9", [0], {"a": 1}, True, None])
def test_a_number_of_the_wrong_type_refuses(oracle: OpaEngine, wrong: object) -> None:
    """Rego orders unlike types, so `"9" >= 0.2` is true: the policy must ask for numbers."""
    asked: dict[str, Any] = {**question_input(question()), "trust": {"score": wrong, "factors": {}}}
    assert oracle.eval_document(RULE, asked)["reasons"] == ["TRUST_TOO_LOW"]


def test_the_shipped_policy_compiles_and_owns_one_root() -> None:
    """OPA's compiler takes it, and a bundle of it claims nothing beside `data.headworks`."""
    sources = read_folder(DEFAULT_FOLDER)
    assert sources.roots() == ["headworks"]
    with engine_for(sources) as engine:
        assert engine.eval_document(RULE, question_input(question()))["allow"] is True
