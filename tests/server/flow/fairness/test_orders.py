"""Every order keeps its port, whatever stands behind it."""

import pytest

from headworks.server.flow.fairness.orders import order_of
from headworks.server.flow.fairness.settings import FairnessSettings, OrderKind
from tests.contracts.order import anyone, check_order, entry


@pytest.mark.parametrize("kind", OrderKind)
def test_every_order_keeps_the_contract(kind: OrderKind) -> None:
    check_order(lambda: order_of(FairnessSettings(order=kind)))


def test_round_robin_serves_one_tenant_after_the_other() -> None:
    """A tenant that sends ten turns at once gets no two in a row while another waits."""
    order = order_of(FairnessSettings(order=OrderKind.ROUND_ROBIN))
    for tenant in "aaaabbc":
        order.join(entry(tenant))
    served = [order.next(anyone) for _ in range(7)]
    assert "".join(one.tenant for one in served if one) == "abcabaa"


def test_weighted_share_serves_requests_as_weights_say() -> None:
    """It is the peer that counts requests and not tokens."""
    order = order_of(FairnessSettings(order=OrderKind.WEIGHTED_SHARE))
    for tenant, weight in (("a", 3.0), ("b", 1.0)):
        for number in range(40):
            order.join(entry(tenant, number, weight=weight))
    served = [one.tenant for _ in range(40) if (one := order.next(anyone))]
    assert served.count("a") == 30


@pytest.mark.parametrize(
    "wrong",
    [
        {"input_price": -1.0},
        {"input_price": 0.0, "output_price": 0.0},
        {"band_tokens": float("nan")},
        {"max_debtors": -1},
    ],
)
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, float]) -> None:
    """A price of nothing would make every tenant equal for ever."""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        FairnessSettings(**wrong)  # type: ignore[arg-type]  # drawn by name
