"""Requests of tenants, as their weights say."""

from collections.abc import Callable, Mapping

from headworks.server.flow.fairness.order import Entry
from headworks.server.flow.fairness.settings import FairnessSettings
from headworks.server.flow.fairness.shares import Share, Shares
from headworks.server.flow.fairness.waiting import Waiting


class _Tenant(Share):
    __slots__ = ("line",)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.line = Waiting()


class WeightedShare:
    """Stride scheduling: the tenant with the fewest requests for its weight is next, and its longest wait goes first.

    Tokens do not count: whoever asks for more with each request gets more. All is O(waiting).
    """

    def __init__(self, settings: FairnessSettings) -> None:
        self._tenants = Shares(_Tenant, 0.0, settings.max_debtors)
        self._turns: dict[Entry, _Tenant] = {}
        self._waiting = 0

    def join(self, entry: Entry) -> None:
        tenant = self._turns[entry] = self._tenants.enter(entry.tenant)
        tenant.line.put(entry)
        self._count(tenant, 1)

    def leave(self, entry: Entry) -> None:
        tenant = self._turns.pop(entry)
        tenant.line.remove(entry)
        self._count(tenant, -1)
        self._tenants.exit(tenant)

    def next(self, may_run: Callable[[Entry], bool]) -> Entry | None:
        choice = self._tenants.choose(lambda tenant: tenant.line.first(may_run))
        if choice is None:
            return None
        cost = 1 / choice.entry.weight
        self._tenants.settle(choice, cost)
        choice.share.line.remove(choice.entry)
        self._count(choice.share, -1)
        choice.share.counter += cost
        return choice.entry

    def started(self, entry: Entry) -> None:
        tenant = self._turns[entry] = self._tenants.enter(entry.tenant)
        self._tenants.started(tenant)
        tenant.counter += 1 / entry.weight

    def charge(self, entry: Entry, input_tokens: int, output_tokens: int) -> None:
        """Tokens do not count."""

    def ended(self, entry: Entry) -> None:
        self._tenants.exit(self._turns.pop(entry))

    def counters(self) -> Mapping[str, float]:
        return self._tenants.ahead()

    def __len__(self) -> int:
        return self._waiting

    def _count(self, tenant: _Tenant, one: int) -> None:
        tenant.waiting += one
        self._waiting += one
