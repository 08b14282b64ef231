import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.policy.facts import InputFacts, LabelFact, least_confidence
from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.question import Question
from headworks.policy.trust.assess import TrustFactor, assess
from headworks.policy.trust.settings import TrustSettings
from tests.strategies import questions

CONTRACT = Path(__file__).parents[3] / "protos" / "headworks" / "v1" / "turn.proto"
KNOWN = Caller("acme", "ann", AuthenticatedBy.API_KEY)
LOCAL = Caller("local", "loopback", AuthenticatedBy.LOOPBACK)


def test_a_key_over_tls_with_certain_input_is_full_trust() -> None:
    """Factors of one are left out, so full trust has no reasons."""
    trust = assess(KNOWN, is_encrypted=True, is_loopback=False, facts=InputFacts(lowest_confidence=0.9))
    assert (trust.score, trust.factors) == (1.0, ())


def test_each_factor_is_named_and_the_score_is_their_product() -> None:
    """An operator reads from the factors why a score is low."""
    facts = InputFacts(lowest_confidence=0.3, labels=(LabelFact("safety", "weapon", 0.75),))
    trust = assess(LOCAL, is_encrypted=False, is_loopback=False, facts=facts)
    assert trust.factors == (
        ("no_credentials", 0.8),
        ("clear_transport", 0.5),
        ("uncertain_reading", 0.5),
        ("alarming_label", 0.25),
    )
    assert trust.score == pytest.approx(0.05)


def test_clear_text_on_loopback_crossed_no_network() -> None:
    """The embedded default has no TLS and needs none."""
    assert assess(LOCAL, is_encrypted=False, is_loopback=True, facts=InputFacts()).factors == (("no_credentials", 0.8),)


@pytest.mark.parametrize("label", [LabelFact("safety", "safe", 0.99), LabelFact("content", "weapon", 0.99)])
def test_harmless_labels_do_not_alarm(label: LabelFact) -> None:
    """Neither the safe label of the safety set nor any other set lowers trust."""
    assert assess(KNOWN, is_encrypted=True, is_loopback=False, facts=InputFacts(labels=(label,))).score == 1


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
def test_a_broken_confidence_is_no_confidence(broken: float) -> None:
    """NaN must not slip through a comparison as certain, nor infinity as more than certain."""
    assert assess(KNOWN, is_encrypted=True, is_loopback=False, facts=InputFacts(lowest_confidence=broken)).score == 0


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
def test_a_broken_label_alarms(broken: float) -> None:
    """A label of the safety set whose score is no number may be any score, so it is the worst."""
    facts = InputFacts(labels=(LabelFact("safety", "weapon", broken), LabelFact("safety", "gore", 0.1)))
    assert assess(KNOWN, is_encrypted=True, is_loopback=False, facts=facts).score == 0


@given(st.permutations([0.9, math.nan, None, 0.3]))
def test_a_broken_confidence_is_the_least_in_any_order(confidences: list[float | None]) -> None:
    """`min` loses a NaN that does not come first, and trust would not know of it."""
    assert least_confidence(confidences) == 0


def test_without_any_confidence_there_is_no_least() -> None:
    """Text has none, and is not uncertain for it."""
    assert least_confidence([None, None]) is None
    assert least_confidence([None, 0.4, 0.7]) == 0.4


def test_weights_outside_their_range_are_refused() -> None:
    """A weight above one would raise trust."""
    with pytest.raises(ValueError, match="no_credentials"):
        TrustSettings(no_credentials=1.5)


@given(questions())
def test_trust_stays_in_range_and_never_rises_with_less_confidence(question: Question) -> None:
    """For every caller and input."""
    facts = question.input
    trust = assess(question.caller, is_encrypted=False, is_loopback=False, facts=facts)
    unsure = InputFacts(lowest_confidence=0.0, labels=facts.labels)
    assert 0 <= trust.score <= 1
    assert assess(question.caller, is_encrypted=False, is_loopback=False, facts=unsure).score <= trust.score


def test_the_contract_names_the_factors_that_there_are() -> None:
    """A client shows why trust is low by these names; the contract once gave two that no server ever sent."""
    (comment,) = re.findall(r"message TrustFactor {\n  // ([^\n]*)\n", CONTRACT.read_text())
    assert re.findall(r'"(\w+)"', comment) == [factor.value for factor in TrustFactor]
