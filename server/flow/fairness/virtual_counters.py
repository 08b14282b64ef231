"""Virtual token counters: the tenant that has had the fewest tokens for its weight is next."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headworks.server.flow.fairness.order import Entry
from headworks.server.flow.fairness.settings import FairnessSettings
from headworks.server.flow.fairness.shares import Share, Shares
from headworks.server.flow.fairness.waiting import Waiting

_LEAST_COST = 1.0
"""Of a turn, in priced tokens, so that one that spends nothing moves its counter too."""
_NEWEST = 0.25
"""Weight of a turn that has ended in the mean of what turns cost."""


class _Mean:
    """What turns cost lately."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0

    def add(self, cost: float) -> None:
        self.value += (_NEWEST if self.value else 1.0) * (cost - self.value)


class _Caller(Share):
    __slots__ = ("line",)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.line = Waiting()


class _Tenant(Share):
    __slots__ = ("callers", "mean_cost")

    def __init__(self, name: str, settings: FairnessSettings) -> None:
        super().__init__(name)
        self.callers = Shares(_Caller, settings.band_tokens, settings.max_debtors, settings.banked_tokens)
        self.mean_cost = _Mean()


@dataclass(slots=True)
class _Turn:
    """One entry's place, and what it costs."""

    tenant: _Tenant
    caller: _Caller
    spent: float = 0.0
    """Priced tokens."""
    held: float = 0.0
    """Of what it was expected to cost, the part that is not spent yet."""


class VirtualCounters:
    """Fair in tokens among tenants, as their weights say, and then among the callers of a tenant, who are equal.

    A counter is raised when a turn begins, by what the tenant's turns cost lately, and from then on by what is spent
    beyond that; when the turn ends, what was raised too much is taken back. So places that become free at the same
    moment do not all go to whoever is behind by a little. The more a tenant falls behind, the sooner it is next, and
    each turn brings its counter up: nobody waits for ever.

    `charge`, `ended` and `started` are O(1) where the tenant stays active. `join` is O(tenants) for the first turn that
    waits of a tenant. `next` is O(tenants log tenants) and asks for entries only as far as it looks: those of the
    tenants within the band of the least, and those that may not run.

    Source: Sheng et al., "Fairness in Serving Large Language Models", OSDI 2024, algorithms 2 and 3 (counters, lift,
    expected cost). Ours are the second level, the band, debts of those who left, and the lift of those who may not run.
    """

    def __init__(self, settings: FairnessSettings) -> None:
        self._settings = settings
        self._tenants = Shares(
            lambda name: _Tenant(name, settings), settings.band_tokens, settings.max_debtors, settings.banked_tokens
        )
        self._turns: dict[Entry, _Turn] = {}
        """Waiting and running."""
        self._mean_cost = _Mean()
        self._waiting = 0

    def join(self, entry: Entry) -> None:
        turn = self._enter(entry)
        turn.caller.line.put(entry)
        self._count(turn, 1)

    def leave(self, entry: Entry) -> None:
        turn = self._turns.pop(entry)
        turn.caller.line.remove(entry)
        self._count(turn, -1)
        self._exit(turn)

    def next(self, may_run: Callable[[Entry], bool]) -> Entry | None:
        def first(caller: _Caller) -> Entry | None:
            return caller.line.first(may_run)

        def first_of_tenant(tenant: _Tenant) -> Entry | None:
            within = tenant.callers.choose(first)
            return within.entry if within is not None else None

        tenants = self._tenants.choose(first_of_tenant)
        if tenants is None or (callers := tenants.share.callers.choose(first)) is None:
            return None
        entry = callers.entry
        turn = self._turns[entry]
        turn.held = self._expected_cost(entry, turn.tenant)
        self._tenants.settle(tenants, turn.held / entry.weight)
        turn.tenant.callers.settle(callers, turn.held)
        turn.caller.line.remove(entry)
        self._count(turn, -1)
        _raise(entry, turn, turn.held)
        return entry

    def started(self, entry: Entry) -> None:
        turn = self._enter(entry)
        self._tenants.started(turn.tenant)
        turn.tenant.callers.started(turn.caller)
        turn.held = self._expected_cost(entry, turn.tenant)
        _raise(entry, turn, turn.held)

    def charge(self, entry: Entry, input_tokens: int, output_tokens: int) -> None:
        turn = self._turns[entry]
        cost = input_tokens * self._settings.input_price + output_tokens * self._settings.output_price
        turn.spent += cost
        expected = min(cost, turn.held)
        turn.held -= expected
        _raise(entry, turn, cost - expected)

    def ended(self, entry: Entry) -> None:
        turn = self._turns.pop(entry)
        if turn.spent:
            self._mean_cost.add(turn.spent)
            turn.tenant.mean_cost.add(turn.spent)
        _raise(entry, turn, -min(turn.held, turn.held + turn.spent - _LEAST_COST))
        self._exit(turn)

    def counters(self) -> Mapping[str, float]:
        """In priced tokens, divided by the tenant's weight."""
        return self._tenants.ahead()

    def __len__(self) -> int:
        return self._waiting

    def _enter(self, entry: Entry) -> _Turn:
        tenant = self._tenants.enter(entry.tenant)
        turn = self._turns[entry] = _Turn(tenant, tenant.callers.enter(entry.caller))
        return turn

    def _expected_cost(self, entry: Entry, tenant: _Tenant) -> float:
        """Return what a turn will cost: as the tenant's last ones, or as everybody's, or all that it may answer."""
        ceiling = entry.tokens * self._settings.output_price
        return max(_LEAST_COST, tenant.mean_cost.value or self._mean_cost.value or ceiling)

    def _exit(self, turn: _Turn) -> None:
        turn.tenant.callers.exit(turn.caller)
        self._tenants.exit(turn.tenant)

    def _count(self, turn: _Turn, one: int) -> None:
        turn.tenant.waiting += one
        turn.caller.waiting += one
        self._waiting += one


def _raise(entry: Entry, turn: _Turn, cost: float) -> None:
    turn.tenant.counter += cost / entry.weight
    turn.caller.counter += cost
