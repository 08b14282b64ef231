"""Makes the order that settings ask for."""

from headworks.server.flow.fairness.first_come import FirstCome
from headworks.server.flow.fairness.order import Order
from headworks.server.flow.fairness.round_robin import RoundRobin
from headworks.server.flow.fairness.settings import FairnessSettings, OrderKind
from headworks.server.flow.fairness.virtual_counters import VirtualCounters
from headworks.server.flow.fairness.weighted_share import WeightedShare


def order_of(settings: FairnessSettings) -> Order:
    """Return an empty order."""
    match settings.order:
        case OrderKind.VIRTUAL_COUNTERS:
            return VirtualCounters(settings)
        case OrderKind.WEIGHTED_SHARE:
            return WeightedShare(settings)
        case OrderKind.ROUND_ROBIN:
            return RoundRobin()
        case OrderKind.FIRST_COME:
            return FirstCome()
