"""What every `Order` must do."""

import gc
from collections.abc import Callable
from types import FunctionType, ModuleType

from headworks.server.flow.fairness.order import Entry, Order

STRANGERS = 100_000
"""Names that come once and never again."""
MOST_KEPT = 5_000
"""Objects that an order may keep while one turn still runs, whatever came before."""


def check_order(make: Callable[[], Order]) -> None:
    """Hold an order to its port.

    Args:
        make: Makes an empty one; called more than once.
    """
    _each_is_served_once(make())
    _who_left_is_not_served(make())
    _who_may_not_run_keeps_its_place(make())
    _who_starts_at_once_is_not_in_line(make())
    _a_callers_turns_keep_their_order(make())
    _who_comes_back_keeps_its_age(make())
    _one_turn_beside_a_flood_is_served(make())
    _names_leave_nothing_behind(make())


def anyone(_: Entry) -> bool:
    """Everybody may run."""
    return True


def nobody(_: Entry) -> bool:
    return False


def entry(tenant: str, at: float = 0.0, caller: str = "c", weight: float = 1.0) -> Entry:
    return Entry(tenant=tenant, caller=caller, weight=weight, tokens=64, joined_at=at)


def objects_of(order: Order) -> int:
    """Count all that an order keeps alive, but for types and functions."""
    seen: set[int] = set()
    left: list[object] = [order]
    while left:
        one = left.pop()
        if id(one) not in seen and not isinstance(one, type | FunctionType | ModuleType):
            seen.add(id(one))
            left.extend(gc.get_referents(one))
    return len(seen)


def _run(order: Order, one: Entry) -> None:
    order.charge(one, 10, 0)
    order.charge(one, 0, 5)
    order.ended(one)


def _each_is_served_once(order: Order) -> None:
    waiting = [entry(f"t{number % 3}", number, f"c{number % 2}") for number in range(24)]
    for one in waiting:
        order.join(one)
    assert len(order) == 24
    served = []
    while (one := order.next(anyone)) is not None:
        served.append(one)
        assert len(order) == 24 - len(served)
    for one in served:
        _run(order, one)
    assert sorted(one.joined_at for one in served) == [one.joined_at for one in waiting]
    assert order.next(anyone) is None


def _who_left_is_not_served(order: Order) -> None:
    gone, stays = entry("a", 0), entry("a", 1)
    order.join(gone)
    order.join(stays)
    order.leave(gone)
    assert len(order) == 1
    assert order.next(anyone) is stays
    order.ended(stays)


def _who_may_not_run_keeps_its_place(order: Order) -> None:
    first, second = entry("a", 0), entry("a", 1)
    order.join(first)
    order.join(second)
    assert order.next(nobody) is None
    assert len(order) == 2
    assert order.next(lambda one: one is second) is second
    assert order.next(anyone) is first


def _who_starts_at_once_is_not_in_line(order: Order) -> None:
    running, waiting = entry("a"), entry("a", 1)
    order.started(running)
    assert (len(order), order.next(anyone)) == (0, None)
    order.join(waiting)
    _run(order, running)
    assert order.next(anyone) is waiting
    _run(order, waiting)


def _a_callers_turns_keep_their_order(order: Order) -> None:
    late, early = entry("a", 2), entry("a", 1)
    order.join(late)
    order.join(early)
    assert [order.next(anyone), order.next(anyone)] == [early, late]


def _who_comes_back_keeps_its_age(order: Order) -> None:
    """The engine drops a turn when its cache is full; that is no fault of the turn (vllm#41951)."""
    dropped, later = entry("a", 0), entry("a", 5)
    order.join(dropped)
    assert order.next(anyone) is dropped
    order.join(later)
    order.charge(dropped, 10, 0)
    order.ended(dropped)
    order.join(dropped)
    assert len(order) == 2
    assert [order.next(anyone), order.next(anyone)] == [dropped, later]


def _one_turn_beside_a_flood_is_served(order: Order) -> None:
    for number in range(100):
        order.join(entry("flood", number / 100))
    alone = entry("light", 1.0)
    order.join(alone)
    for number in range(102):
        one = order.next(anyone)
        assert one is not None
        _run(order, one)
        if one is alone:
            return
        order.join(entry("flood", 2.0 + number))
    raise AssertionError("others were served for ever")


def _names_leave_nothing_behind(order: Order) -> None:
    """A name costs its sender nothing, so nothing may be kept for each."""
    lasting = entry("lasting")
    order.started(lasting)
    before = objects_of(order)
    for number in range(STRANGERS):
        one = entry(f"t{number}", number, f"c{number}")
        if number % 2:
            order.started(one)
            _run(order, one)
        else:
            order.join(one)
            order.leave(one)
    assert objects_of(order) < before + MOST_KEPT
    assert set(order.counters()) <= {"lasting"}
    order.ended(lasting)
    assert objects_of(order) <= before
    assert not order.counters()
