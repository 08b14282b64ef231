"""The tenants' experiment, shorter. It runs in virtual time, so its ratios are the same everywhere."""

import pytest

from bench.fairness.__main__ import AIM_JAIN, BACKLOGGED, CROWD, HEAVY, URGENT, door, light_beside, orders
from bench.fairness.door import Room
from bench.fairness.experiment import run

SECONDS = 120.0


def test_by_counters_a_light_tenant_does_not_wait_as_long_as_the_heavy_one() -> None:
    """First come, all wait in the same line, which is as long as the heavy tenant makes it."""
    waits = {
        name: light_beside([HEAVY], orders()[name](), Room.NOBODY, SECONDS).wait_p99("light")
        for name in ("virtual counters", "first come")
    }
    assert waits["first come"] > 5 * waits["virtual counters"]


def test_a_bank_of_a_few_turns_shortens_the_light_tenants_wait_and_costs_no_fairness() -> None:
    """Without one, its second turn soon after the first waits as long as anybody's."""
    saving, plain = (orders()[name] for name in ("virtual counters, 4,000 banked", "virtual counters"))
    waits = [light_beside(CROWD, make(), Room.NOBODY, SECONDS).wait_p99("light") for make in (saving, plain)]
    assert waits[0] < 0.7 * waits[1]
    assert run(BACKLOGGED, door(saving()), SECONDS).jain() >= AIM_JAIN


def test_room_for_tenants_below_their_share_spares_the_light_tenant_most_of_its_wait() -> None:
    """An order can only give the next place; that one is free at once needs places kept."""
    waits = {
        room: light_beside([HEAVY], orders()["virtual counters"](), room, SECONDS).wait_p99("light") for room in Room
    }
    assert waits[Room.BELOW_SHARE] < waits[Room.NOBODY] / 3


def test_prompts_ten_times_as_large_get_equal_tokens_by_counters_only() -> None:
    """Round robin by request lets long prompts dominate (llm-d-router#1182)."""
    jain = {name: run(BACKLOGGED, door(make()), SECONDS).jain() for name, make in orders().items()}
    assert jain["virtual counters"] >= AIM_JAIN
    for name in ("llm-d (model)", "round robin", "weighted share"):
        assert jain[name] < 0.8


def test_a_weight_leaves_the_other_its_share_where_a_strict_band_leaves_nothing() -> None:
    """Strict priority starves whoever is below it (gateway-api-inference-extension#1861)."""
    shares = {
        name: run(URGENT, door(orders()[name]()), SECONDS).share("patient")
        for name in ("llm-d (model)", "virtual counters")
    }
    assert shares["llm-d (model)"] == 0
    assert shares["virtual counters"] == pytest.approx(0.2, abs=0.02)


def test_the_same_seed_gives_the_same_result() -> None:
    """A ratio that is asserted must not depend on the machine."""
    results = [light_beside([HEAVY], orders()["virtual counters"](), Room.NOBODY, 20.0) for _ in range(2)]
    assert results[0] == results[1]
