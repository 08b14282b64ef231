"""What a policy reads decides what its verdicts hold for."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import regorus
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headworks.policy.bundles.sources import DEFAULT_FOLDER
from headworks.policy.memory import VerdictMemory
from headworks.policy.question import Question
from headworks.policy.question_input import ReadParts, question_input
from headworks.policy.reads import Reads, reads_of
from headworks.policy.regorus import RegorusJudge
from headworks.policy.settings import RegorusSettings
from headworks.policy.verdict import Verdict
from tests.policy.embedded import embedded_judge
from tests.policy.questions import question
from tests.strategies import questions

ALL: frozenset[tuple[str, ...]] = frozenset({()})


def reads(*modules: str) -> Reads:
    engine = regorus.Engine()
    for number, text in enumerate(modules):
        engine.add_policy(f"{number}.rego", f"package p{number}\nimport rego.v1\n{text}")
    return reads_of(engine.get_ast_as_json())


@pytest.mark.parametrize(
    ("rules", "paths"),
    [
        ("a := 1", set()),
        ("a := input.model", {("model",)}),
        ('a := input["model"]', {("model",)}),
        ('a := input.caller["tenant"]', {("caller", "tenant")}),
        ("a := input.caller.attributes[x] if some x in [1]", {("caller", "attributes")}),
        ("a := input.caller.roles[_].name", {("caller", "roles")}),
        ("a := data.roles[input.caller.roles[0]]", {("caller", "roles")}),
        ("a contains x if some x in input.input.labels", {("input", "labels")}),
        ("a[input.purpose] := input.stage", {("purpose",), ("stage",)}),
        ("a := [y | y := input.trust.score]", {("trust", "score")}),
        ("a if every x in input.caller.roles { x == input.model }", {("caller", "roles"), ("model",)}),
        ("default a := false\na if input.stage\nelse := input.model", {("stage",), ("model",)}),
        ("f(x) := x.model\na := f(input)", {()}),
        ('a := object.get(input, concat("", ["mo", "del"]), 1)', {()}),
        ("a := input[x] if some x in [1]", {()}),
        ("a if { x := input; x.model }", {()}),
        ("a if walk(input, x)", {()}),
        ("a if b with input as {}\nb := 1", set()),
        ("a if b with input as input.caller\nb := input.model", {("caller",), ("model",)}),
        ("a if b with input.stage as 1\nb := input.model", {("stage",), ("model",)}),
        ("import input as everything\na := everything.model", {()}),
        ("import input.caller as who\na := who.tenant", {("caller",)}),
        ("input_like := 1\na := data.input.model", set()),
    ],
)
def test_each_reference_counts_as_far_as_its_names_are_written(rules: str, paths: set[tuple[str, ...]]) -> None:
    """A name that is made up while the rule runs may be any name."""
    assert reads(rules).paths == paths


def test_all_modules_count() -> None:
    """A rule may call for one in another module, and data may be made of rules."""
    assert reads("a := data.p1.b", "b := input.turn_id").paths == {("turn_id",)}


@pytest.mark.parametrize(
    "rule",
    [
        "a := time.now_ns()",
        'a := rand.intn("x", 3)',
        'a := uuid.rfc4122("x")',
        "a := http.send({})",
        "a := opa.runtime()",
        'a := io.jwt.decode_verify("x", {})',
    ],
)
def test_a_clock_chance_or_the_network_is_asked_each_time(rule: str) -> None:
    """A verdict that was right a second ago may be wrong now."""
    assert not reads(rule).is_repeatable
    assert reads('a := time.parse_rfc3339_ns("2026-01-01T00:00:00Z")').is_repeatable


def test_a_policy_nested_too_deep_counts_as_reading_everything() -> None:
    """Failing to see what it reads must not make a verdict last."""
    tree = '[{"ast": ' + '{"Expr": ' * 5_000 + "1" + "}" * 5_001 + "]"
    assert reads_of(tree) == Reads(ALL, is_repeatable=False)


def test_the_shipped_policy_reads_nothing_that_counts_up() -> None:
    """So one verdict serves a caller's whole turn and the next one."""
    engine = regorus.Engine()
    for path in DEFAULT_FOLDER.glob("*.rego"):
        engine.add_policy(path.name, path.read_text(encoding="utf-8"))
    found = reads_of(engine.get_ast_as_json())
    assert found.is_repeatable
    for part in (("turn_id",), ("input", "bytes"), ("input", "tokens"), ("max_output_tokens",)):
        assert not found.reads(part)


@pytest.fixture(scope="module")
def forgetful(folder: Path) -> Iterator[RegorusJudge]:
    made = embedded_judge(RegorusSettings(folder=folder, max_remembered=0))
    yield made
    asyncio.run(made.close())


@pytest.fixture(scope="module")
def remembering(folder: Path) -> Iterator[RegorusJudge]:
    made = embedded_judge(RegorusSettings(folder=folder, max_remembered=8))
    yield made
    asyncio.run(made.close())


@given(st.lists(questions(), min_size=1, max_size=20))
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_remembered_verdict_is_what_would_be_decided(
    remembering: RegorusJudge, forgetful: RegorusJudge, asked: list[Question]
) -> None:
    """Whatever was asked before, and whoever asked it."""
    for each in asked * 2:
        known, decided = (asyncio.run(judge.judge(each)) for judge in (remembering, forgetful))
        assert replace(known, decision_id="") == replace(decided, decision_id="")
        assert known.decision_id != decided.decision_id


@given(questions(), questions())
@settings(max_examples=200)
def test_questions_that_are_equal_in_all_parts_are_the_same_to_a_policy(one: Question, other: Question) -> None:
    """What is compared stands for what is sent."""
    parts = ReadParts(Reads(ALL, is_repeatable=True))
    assert parts.input(one) == question_input(one)
    assert (parts.values(one) == parts.values(other)) == (question_input(one) == question_input(other))


def test_a_policy_is_sent_what_it_reads_and_nothing_else() -> None:
    """Then what it is not sent cannot be too long for it either."""
    parts = ReadParts(Reads(frozenset({("caller", "tenant"), ("model",)}), is_repeatable=True))
    assert parts.input(question()) == {"caller": {"tenant": "local"}, "model": "smollm2", "input": {}, "trust": {}}


def test_the_memory_is_bounded_and_keeps_what_is_used() -> None:
    """Ten thousand callers must not fill the process."""
    memory = VerdictMemory(Reads(ALL, is_repeatable=True), most=2)
    verdicts = [Verdict(allow=True, decision_id=str(number), reasons=(), judge="j") for number in range(3)]
    asked = [question(model=str(number)) for number in range(3)]
    memory.keep(asked[0], verdicts[0])
    memory.keep(asked[1], verdicts[1])
    assert memory.find(asked[0]) is verdicts[0]
    memory.keep(asked[2], verdicts[2])
    assert memory.find(asked[1]) is None
    assert memory.find(asked[0]) is verdicts[0]


async def test_a_policy_that_reads_a_clock_is_asked_each_time(tmp_path: Path) -> None:
    """Office hours end while callers are being remembered."""
    verdict = '{"allow": true, "reasons": [], "obligations": {"modalities": ["text"], "turns_per_minute": now}}'
    rules = f"package headworks.turn\nimport rego.v1\nnow := time.now_ns() % 1000000 + 1\ndecision := {verdict}\n"
    (tmp_path / "clock.rego").write_text(rules, encoding="utf-8")
    judge = embedded_judge(RegorusSettings(folder=tmp_path))
    seen = {(await judge.judge(question())).obligations.turns_per_minute for _ in range(5)}
    await judge.close()
    assert len(seen) > 1
