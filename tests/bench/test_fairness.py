"""The tenants' experiment, shorter. It runs in virtual time, so its ratios are the same everywhere."""

import pytest

from bench.fairness.__main__ import (
    AIM_JAIN,
    BACKLOGGED,
    CROWD,
    HEAVY,
    LIGHT,
    LONG,
    SHORT,
    URGENT,
    gateway,
    orders,
    peer,
)
from bench.fairness.experiment import Result, Tenant, run
from headworks.server.flow.settings import FlowSettings

SECONDS = 120.0
KEPT = FlowSettings().newcomer_share


def light_beside(heavy: list[Tenant], order: str, kept: float) -> Result:
    return run([LIGHT, *heavy], gateway(orders()[order], LONG, kept), SECONDS)


def test_by_counters_a_light_tenant_does_not_wait_as_long_as_the_heavy_one() -> None:
    """First come, all wait in the same line, which is as long as the heavy tenant makes it."""
    waits = {name: light_beside([HEAVY], name, 0.0).wait_p99("light") for name in ("virtual counters", "first come")}
    assert waits["first come"] > 5 * waits["virtual counters"]


def test_a_bank_of_a_few_turns_shortens_the_light_tenants_wait_and_costs_no_fairness() -> None:
    """Without one, its second turn soon after the first waits as long as anybody's."""
    saving, plain = "virtual counters, 4,000 banked", "virtual counters"
    waits = [light_beside(CROWD, name, 0.0).wait_p99("light") for name in (saving, plain)]
    assert waits[0] < 0.7 * waits[1]
    assert run(BACKLOGGED, gateway(orders()[saving], LONG, 0.0), SECONDS).jain() >= AIM_JAIN


def test_kept_places_spare_the_light_tenant_its_wait_for_the_heavy_one() -> None:
    """An order can only give the next place; that one is free at once needs places kept."""
    waits = {kept: light_beside([HEAVY], "virtual counters", kept).wait_p99("light") for kept in (KEPT, 0.0)}
    assert waits[KEPT] < waits[0.0] / 3


@pytest.mark.parametrize("kept", [0.0, KEPT])
def test_prompts_ten_times_as_large_get_equal_tokens_by_counters_only(kept: float) -> None:
    """Round robin by request lets long prompts dominate (llm-d-router#1182)."""
    doors = {name: gateway(fairness, LONG, kept) for name, fairness in orders().items()}
    jain = {name: run(BACKLOGGED, door, SECONDS).jain() for name, door in {**doors, "llm-d": peer()}.items()}
    assert jain["virtual counters"] >= AIM_JAIN
    for name in ("llm-d", "round robin", "weighted share"):
        assert jain[name] < 0.8


@pytest.mark.parametrize("kept", [0.0, KEPT])
def test_a_weight_leaves_the_other_its_share_where_a_strict_band_leaves_nothing(kept: float) -> None:
    """Strict priority starves whoever is below it (gateway-api-inference-extension#1861)."""
    assert run(URGENT, peer(), SECONDS).share("patient") == 0
    ours = run(URGENT, gateway(orders()["virtual counters"], LONG, kept), SECONDS)
    assert ours.share("patient") == pytest.approx(0.2, abs=0.02)


def test_beside_a_heavy_tenant_that_is_refused_the_light_one_hardly_ever_is() -> None:
    """One tenant's refusals must not be another's: the line that stands is not the light tenant's."""
    result = run([LIGHT, HEAVY], gateway(orders()["virtual counters"], SHORT, KEPT), SECONDS)
    assert result.refused_share("light") < result.refused_share("heavy") / 4


def test_the_same_seed_gives_the_same_result() -> None:
    """A ratio that is asserted must not depend on the machine, nor on when the refused are told to come back."""
    results = [run([LIGHT, *BACKLOGGED], gateway(orders()["round robin"], SHORT, KEPT), 20.0) for _ in range(2)]
    assert results[0].refused.total() > 0
    assert results[0] == results[1]
