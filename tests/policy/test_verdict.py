from headworks.policy.verdict import GATEWAY, Obligations, Verdict, refused_by_gateway

ALLOWED = Verdict(True, "d-1", (), "regorus", "r-1", Obligations(modalities=("text",)))


def test_obligations_allow_nothing_that_is_not_named() -> None:
    """A verdict that was made without any must not open the turn to all kinds of input."""
    assert Obligations().modalities == ()


def test_a_refusal_by_the_gateway_is_a_decision_of_its_own() -> None:
    """Under the id of the allow, whoever looks the refusal up in the log would find that it was allowed."""
    first, second = (refused_by_gateway(ALLOWED, "MODALITY_NOT_ALLOWED") for _ in range(2))
    assert len({ALLOWED.decision_id, first.decision_id, second.decision_id}) == 3
    assert (first.allow, first.reasons, first.judge) == (False, ("MODALITY_NOT_ALLOWED",), GATEWAY)


def test_a_refusal_by_the_gateway_names_the_policy_and_carries_nothing() -> None:
    """It follows from that revision's obligations; and a refused turn may carry no modality."""
    refusal = refused_by_gateway(ALLOWED, "MODALITY_NOT_ALLOWED")
    assert (refusal.revision, refusal.obligations.modalities) == ("r-1", ())
