import asyncio
import gc
import threading
from pathlib import Path

import pytest

from headworks.policy.bundles.bundle import pack
from headworks.policy.bundles.sources import read_folder
from headworks.policy.errors import JudgeUnavailable, NoVerdict, PolicyBroken
from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.question import Question
from headworks.policy.regorus import RegorusJudge
from headworks.policy.settings import RegorusSettings
from tests.contracts.judge import check_judge
from tests.policy.embedded import embedded_judge
from tests.policy.questions import question

GOOD = '{"allow": true, "reasons": [], "obligations": {"modalities": ["text"]}}'


def policy(folder: Path, rules: str) -> RegorusSettings:
    (folder / "own.rego").write_text(f"package headworks.turn\n\nimport rego.v1\n\n{rules}\n")
    return RegorusSettings(folder=folder, max_decision_milliseconds=1000)


async def reason_of(judge: RegorusJudge, asked: Question) -> NoVerdict:
    with pytest.raises(JudgeUnavailable) as refused:
        await judge.judge(asked)
    await judge.close()
    assert refused.value.decision_id
    return refused.value.reason


async def test_regorus_is_a_judge(folder: Path) -> None:
    """The contract, on the default policy."""
    settings = RegorusSettings(folder=folder, max_decision_milliseconds=1000)
    asked = [question(), question(tenant="acme"), question(trust=0), question(roles=["reader"])]
    await check_judge(lambda: embedded_judge(settings), asked)


async def test_the_verdict_names_the_revision(folder: Path) -> None:
    """The same digest as in the bundle that OPA agents fetch."""
    judge = embedded_judge(RegorusSettings(folder=folder))
    verdict = await judge.judge(question())
    await judge.close()
    assert verdict.revision == pack(read_folder(folder)).revision
    assert len(verdict.revision) == 64


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        pytest.param(f"decision := {GOOD} if input.turn_id == 'probe'".replace("'", '"'), "UNDEFINED", id="undefined"),
        pytest.param('decision := {"allow": true}', "ODD", id="half"),
        pytest.param("decision := {}", "ODD", id="empty"),
        pytest.param('decision := "<undefined>"', "UNDEFINED", id="written-like-undefined"),
        pytest.param("decision := null", "ODD", id="null"),
        pytest.param("decision := numbers.range(1, 40000)", "ODD", id="huge"),
        pytest.param(
            f'decision := {GOOD}\ndecision := {{"allow": false}} if input.turn_id != "probe"', "ODD", id="two-answers"
        ),
        pytest.param(
            f'decision := {GOOD} if {{ input.turn_id != "probe"; to_number(input.model) == 1 }}\n'
            f'decision := {GOOD} if input.turn_id == "probe"',
            "ODD",
            id="failed-builtin",
        ),
    ],
)
async def test_no_clear_answer_is_no_verdict(tmp_path: Path, rules: str, reason: str) -> None:
    """An operator's own policy may fail in any way; none of them is an allow (open-policy-agent/opa#2732)."""
    judge = embedded_judge(policy(tmp_path, rules))
    assert await reason_of(judge, question()) is NoVerdict[reason]


@pytest.mark.parametrize(
    "rules", ["decision := {", "decision := nosuch(1)", "decision := nosuch", "other := 1"], ids=str
)
async def test_a_broken_policy_stops_the_start(tmp_path: Path, rules: str) -> None:
    """At once and with the engine's message, without the Rust stack (zalando/skipper#3120)."""
    judge = embedded_judge(policy(tmp_path, rules))
    with pytest.raises(PolicyBroken) as broken:
        await judge.warm()
    assert "Stack backtrace" not in str(broken.value)
    assert await reason_of(judge, question()) is NoVerdict.DOWN


def test_an_empty_folder_stops_the_start(tmp_path: Path) -> None:
    """No policy is not an open door."""
    with pytest.raises(PolicyBroken, match=r"no \.rego"):
        embedded_judge(RegorusSettings(folder=tmp_path))


async def test_a_slow_policy_stops_the_start(tmp_path: Path) -> None:
    """It would block the event loop at every question."""
    rules = f"decision := {GOOD} if count([1 | some i in numbers.range(1, 20000); i * i == 9]) == 1"
    settings = policy(tmp_path, rules)
    judge = embedded_judge(RegorusSettings(folder=settings.folder, max_decision_milliseconds=0.5))
    with pytest.raises(PolicyBroken, match="max_decision_milliseconds"):
        await judge.warm()
    await judge.close()


@pytest.mark.parametrize(
    "asked",
    [question(trust=float("nan")), question(model="\ud800"), question(model="m" * 70000)],
    ids=["nan", "surrogate", "long"],
)
async def test_a_question_that_json_cannot_carry_is_refused(folder: Path, asked: Question) -> None:
    """Policy gets digests and counts; what is not that does not reach it (open-policy-agent/opa#3933)."""
    assert await reason_of(embedded_judge(RegorusSettings(folder=folder)), asked) is NoVerdict.ODD


async def test_attributes_of_the_wrong_type_are_refused(folder: Path) -> None:
    """A caller that cannot be written as JSON has no verdict."""
    caller = Caller("local", "x", AuthenticatedBy.LOOPBACK, attributes={"a": object()})  # type: ignore[dict-item]
    asked = question()
    odd = Question(asked.turn_id, asked.stage, caller, "m", "", 1, asked.input, asked.trust)
    assert await reason_of(embedded_judge(RegorusSettings(folder=folder)), odd) is NoVerdict.ODD


async def test_other_threads_may_ask_too(folder: Path) -> None:
    """An engine panics on a thread that did not make it, and complains when it is let go there."""
    judge = embedded_judge(RegorusSettings(folder=folder))
    expected = (await judge.judge(question())).allow
    answers: list[bool] = []

    def ask() -> None:
        answers.append(asyncio.run(judge.judge(question())).allow)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    gc.collect()  # so that the threads collect nothing that other tests left behind
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    await judge.close()
    gc.collect()
    assert answers == [expected] * 4
