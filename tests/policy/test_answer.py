import json
import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headworks.policy.answer import HIGHEST_CEILING, ZEROS, OddAnswer, parse_json, verdict_from
from headworks.policy.errors import JudgeUnavailable, NoVerdict
from headworks.policy.verdict import Obligations, Verdict
from tests.strategies import json_values

ALLOW = {"allow": True, "reasons": [], "obligations": {"max_output_tokens": 5, "modalities": ["voice", "text"]}}
REFUSE = {"allow": False, "reasons": ["TRUST_TOO_LOW"], "obligations": {}}


def read(document: object) -> Verdict:
    return verdict_from(document, judge="test", decision_id="d-1", revision="r-1")


def test_a_clear_allow_is_an_allow() -> None:
    """With its obligations, modalities in their fixed order."""
    assert read(ALLOW) == Verdict(
        allow=True,
        decision_id="d-1",
        reasons=(),
        judge="test",
        revision="r-1",
        obligations=Obligations(max_output_tokens=5, modalities=("text", "voice")),
    )


def test_a_refusal_keeps_its_reasons_and_carries_nothing() -> None:
    """A refused turn may carry no modality."""
    verdict = read(REFUSE)
    assert (verdict.allow, verdict.reasons, verdict.obligations.modalities) == (False, ("TRUST_TOO_LOW",), ())


@pytest.mark.parametrize("name", ZEROS)
def test_an_obligation_of_zero_refuses_for_good(name: str) -> None:
    """Zero means never. As an odd answer it was UNAVAILABLE, and callers were told to retry in a second for ever."""
    obligations = {"max_output_tokens": 5, "modalities": ["text"], name: [] if name == "modalities" else 0}
    verdict = read({**ALLOW, "reasons": ["OWN_TENANT"], "obligations": obligations})
    assert (verdict.allow, verdict.reasons, verdict.decision_id) == (False, (ZEROS[name],), "d-1")
    assert (verdict.judge, verdict.revision, verdict.obligations) == ("test", "r-1", Obligations())


def test_every_zero_is_named() -> None:
    """An operator then mends the policy at once and not one obligation after the other."""
    obligations = {"turns_per_minute": 0, "max_input_tokens": 0, "modalities": ["text"]}
    verdict = read({**ALLOW, "obligations": obligations})
    assert verdict.reasons == ("MAX_INPUT_TOKENS_IS_ZERO", "TURNS_PER_MINUTE_IS_ZERO")


@pytest.mark.parametrize("name", [name for name in ZEROS if name != "modalities"])
def test_a_very_high_ceiling_is_the_highest_that_can_be_sent(name: str) -> None:
    """A policy says "very many" by ten thousand million; the contract has 32 bits, and the turn ended as INTERNAL."""
    verdict = read({**ALLOW, "obligations": {"modalities": ["text"], name: 10**10}})
    assert (verdict.allow, getattr(verdict.obligations, name)) == (True, HIGHEST_CEILING)


@pytest.mark.parametrize(("written", "weight"), [({}, 1.0), ({"weight": None}, 1.0), ({"weight": 3}, 3.0)])
def test_a_weight_is_one_unless_it_is_written(written: dict[str, object], weight: float) -> None:
    """A policy of before weights treats its tenants alike."""
    verdict = read({**ALLOW, "obligations": {"modalities": ["text"], **written}})
    assert verdict.obligations.weight == weight


def test_bytes_have_a_ceiling_by_modality() -> None:
    """One that is null has none; of one that is zero nothing may come, and other kinds still may."""
    ceilings = {"voice": 7, "text": 0, "image": None}
    verdict = read({**ALLOW, "obligations": {"modalities": ["text", "voice"], "max_bytes": ceilings}})
    assert verdict.allow
    assert verdict.obligations.max_bytes == (("text", 0), ("voice", 7))


def test_a_refusal_with_a_zero_keeps_its_own_reasons() -> None:
    """Policy said why; what it would have obliged us to is of no matter then."""
    verdict = read({**REFUSE, "obligations": {"turns_per_minute": 0, "modalities": ["text"]}})
    assert (verdict.reasons, verdict.obligations) == (("TRUST_TOO_LOW",), Obligations())


ODD: list[tuple[str, Any]] = [
    ("nothing", {}),
    ("null", None),
    ("a bare boolean", True),
    ("a list", [ALLOW]),
    ("allow as text", {**ALLOW, "allow": "true"}),
    ("allow as a number", {**ALLOW, "allow": 1}),
    ("allow as null", {**ALLOW, "allow": None}),
    ("something beside it", {**ALLOW, "deny": True}),
    ("no reasons", {key: ALLOW[key] for key in ("allow", "obligations")}),
    ("no obligations", {key: ALLOW[key] for key in ("allow", "reasons")}),
    ("a refusal without a reason", {**REFUSE, "reasons": []}),
    ("reasons as text", {**REFUSE, "reasons": "NO"}),
    ("a sentence for a reason", {**REFUSE, "reasons": ["you may not"]}),
    ("a reason with a line break", {**REFUSE, "reasons": ["NO\n"]}),
    ("a reason twice", {**REFUSE, "reasons": ["NO", "NO"]}),
    ("a reason of 65 letters", {**REFUSE, "reasons": ["N" * 65]}),
    ("33 reasons", {**REFUSE, "reasons": [f"NO_{number}" for number in range(33)]}),
    ("an allow that names no modalities", {**ALLOW, "obligations": {}}),
    ("an unknown obligation", {**ALLOW, "obligations": {"modalities": [], "watermark": True}}),
    ("an unknown modality", {**ALLOW, "obligations": {"modalities": ["smell"]}}),
    ("bytes of an unknown modality", {**ALLOW, "obligations": {"modalities": [], "max_bytes": {"smell": 1}}}),
    ("bytes that are no object", {**ALLOW, "obligations": {"modalities": [], "max_bytes": 5}}),
    ("bytes that are not whole", {**ALLOW, "obligations": {"modalities": [], "max_bytes": {"text": 0.5}}}),
    ("a modality twice", {**ALLOW, "obligations": {"modalities": ["text", "text"]}}),
    ("a ceiling of zero that is not whole", {**ALLOW, "obligations": {"modalities": [], "max_input_tokens": 0.0}}),
    ("a ceiling that is false", {**ALLOW, "obligations": {"modalities": [], "max_input_tokens": False}}),
    ("a negative ceiling", {**ALLOW, "obligations": {"modalities": [], "max_input_tokens": -1}}),
    ("a ceiling that is true", {**ALLOW, "obligations": {"modalities": [], "max_input_tokens": True}}),
    ("a ceiling in text", {**ALLOW, "obligations": {"modalities": [], "max_input_tokens": "9"}}),
    ("a ceiling that is no number", {**ALLOW, "obligations": {"modalities": [], "max_input_tokens": float("nan")}}),
    ("an endless ceiling", {**ALLOW, "obligations": {"modalities": [], "max_input_tokens": float("inf")}}),
    ("a weight of zero", {**ALLOW, "obligations": {"modalities": [], "weight": 0}}),
    ("a weight that outweighs all", {**ALLOW, "obligations": {"modalities": [], "weight": 10**400}}),
    ("a weight that is no number", {**ALLOW, "obligations": {"modalities": [], "weight": float("nan")}}),
    ("a weight that is true", {**ALLOW, "obligations": {"modalities": [], "weight": True}}),
    ("a subject in text", {**ALLOW, "obligations": {"modalities": [], "per_subject": "yes"}}),
    ("a cut in text", {**ALLOW, "obligations": {"modalities": [], "cut_answers": "yes"}}),
    ("a weight in text", {**ALLOW, "obligations": {"modalities": [], "weight": "2"}}),
    ("a ceiling that JSON cannot keep", {**ALLOW, "obligations": {"modalities": [], "max_input_tokens": 2**53}}),
]


@pytest.mark.parametrize(("what", "document"), ODD, ids=[what for what, _ in ODD])
def test_every_odd_answer_is_no_verdict(what: str, document: object) -> None:
    """There is no shape that nearly counts (open-policy-agent/opa#2732)."""
    with pytest.raises(JudgeUnavailable) as refused:
        read(document)
    assert (refused.value.reason, refused.value.decision_id) == (NoVerdict.ODD, "d-1")


@given(json_values)
def test_no_document_but_the_one_shape_allows(document: object) -> None:
    """No policy document turns an error into an allow."""
    try:
        verdict = read(document)
    except JudgeUnavailable:
        return
    assert not verdict.allow or (isinstance(document, dict) and document["allow"] is True)


@given(st.sampled_from(["allow", "reasons", "obligations"]), json_values)
def test_one_bad_part_never_allows(part: str, value: object) -> None:
    """A good answer with one part replaced is refused unless that part is good too."""
    try:
        verdict = read({**ALLOW, part: value})
    except JudgeUnavailable:
        return
    if part == "allow":
        assert verdict.allow is (value is True)
    if part == "obligations":
        assert isinstance(value, dict)
        assert isinstance(value["modalities"], list)


NUMBERS = (0, 1, 2, -1, 2**31 - 1, 2**31, 2**53 - 1, 2**53, 10**400, 0.0, -0.0, 0.5, 1.0, 1e308)
NO_NUMBERS = (math.nan, math.inf, -math.inf, None, True, False, "", "0", "9", "text")
LISTS = ([], [0], [None], ["text"], ["text", "text"], ["smell"], {}, {"a": 1})
HOSTILE = st.sampled_from((*NUMBERS, *NO_NUMBERS, *LISTS))


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(ZEROS, HOSTILE)))
def test_no_hostile_obligation_widens_an_allow(obligations: dict[str, Any]) -> None:
    """An allow holds the turn to what policy wrote or to less; what cannot be held to is a refusal or no verdict."""
    try:
        verdict = read({**ALLOW, "obligations": obligations})
    except JudgeUnavailable:
        return
    held = {name: getattr(verdict.obligations, name) for name in ZEROS}
    if not verdict.allow:
        assert set(verdict.reasons) <= set(ZEROS.values())
        assert held["modalities"] == ()
        return
    assert held.pop("modalities") == ("text",) == tuple(obligations["modalities"])
    for name, ceiling in held.items():
        written = obligations.get(name)
        assert (ceiling is None) is (written is None), name
        assert ceiling is None or 1 <= ceiling <= written


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "NaN",
        '{"a": Infinity}',
        '{"allow": false, "allow": true}',
        '{"a": {"b": 1, "b": 1}}',
        "[" * 60000,
        "1" * 60000,
        b"\xff\xfe{",
        b'"\xc3"',
    ],
    ids=["empty", "cut", "nan", "infinity", "twice", "twice-inside", "deep", "digits", "bom", "utf8"],
)
def test_what_is_not_strict_json_is_odd(text: str | bytes) -> None:
    """Readers differ on all of these, so none of them is an answer."""
    with pytest.raises(OddAnswer):
        parse_json(text, 65536)


def test_a_long_answer_is_not_parsed() -> None:
    """The bound holds before the parser runs."""
    text = json.dumps(ALLOW)
    assert parse_json(text, len(text)) == ALLOW
    with pytest.raises(OddAnswer, match="longer than"):
        parse_json(text, len(text) - 1)


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_no_bytes_break_the_parser(text: bytes | str) -> None:
    """Every failure is an OddAnswer."""
    try:
        document = parse_json(text, 65536)
    except OddAnswer:
        return
    assume(isinstance(document, dict))
