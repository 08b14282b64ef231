"""The line for a permit: by class of service first, and within a class as fairness has it."""

import math
from collections import Counter
from collections.abc import Callable

from headworks.server.flow.claim import Claim
from headworks.server.flow.fairness.order import Order
from headworks.server.flow.service_class import ServiceClass
from headworks.server.flow.settings import ClassSettings, LineSettings

_CALM_SECONDS = 2.0
"""How long nobody may wait or be refused before a burst is let in again; else each would be followed by the next."""


class Line:
    """Keeps the claims that wait, within bounds, and says which is next."""

    def __init__(self, orders: dict[ServiceClass, Order], line: LineSettings, classes: ClassSettings) -> None:
        self._orders = orders
        self._settings = line
        self._classes = classes
        self._by_tenant: dict[ServiceClass, Counter[str]] = {kind: Counter() for kind in ServiceClass}
        self._weights: dict[ServiceClass, dict[str, float]] = {kind: {} for kind in ServiceClass}
        self._begun_at = dict.fromkeys(ServiceClass, math.inf)
        """When a class last had its first claim in line."""
        self._stands_until = -math.inf
        self._tokens = 0

    def __len__(self) -> int:
        """Claims that wait."""
        return sum(len(order) for order in self._orders.values())

    @property
    def tenants(self) -> int:
        """Tenants that have interactive claims in line."""
        return len(self._by_tenant[ServiceClass.INTERACTIVE])

    def waiting(self, kind: ServiceClass) -> int:
        """Claims of one class that wait."""
        return len(self._orders[kind])

    def waiting_of(self, tenant: str) -> int:
        """Interactive claims of one tenant that wait."""
        return self._by_tenant[ServiceClass.INTERACTIVE][tenant]

    @property
    def tokens(self) -> int:
        """Tokens that the answers of those that wait may come to."""
        return self._tokens

    def ahead(self, claim: Claim) -> float:
        """Estimate how many claims would be served before this one: its tenant's own, and as many of each other."""
        tenants, weights = self._by_tenant[claim.service_class], self._weights[claim.service_class]
        own = tenants[claim.tenant]
        others = sum(
            min(count, (own + 1) * weights[tenant] / claim.weight)
            for tenant, count in tenants.items()
            if tenant != claim.tenant
        )
        return own + others

    def max_wait_seconds(self, kind: ServiceClass, now: float, turn_seconds: float) -> float:
        """Return how long a claim may wait that joins now.

        Args:
            turn_seconds: Between the ends of two turns.
        """
        settings = self._settings
        if kind is ServiceClass.BATCH:
            return settings.batch_seconds
        if not self.is_standing(now):
            return settings.interactive_seconds
        return min(settings.interactive_seconds, max(settings.standing_seconds, settings.standing_turns * turn_seconds))

    def is_standing(self, now: float) -> bool:
        """Return whether interactive turns have waited, or have been refused, without a break until just now."""
        kind = ServiceClass.INTERACTIVE
        if len(self._orders[kind]) and now - self._begun_at[kind] > self._settings.standing_after_seconds:
            self._stands_until = now + _CALM_SECONDS
        return now < self._stands_until

    def refused(self, now: float) -> None:
        """Let a line that stands go on standing: whoever is refused would wait in it."""
        if self.is_standing(now):
            self._stands_until = now + _CALM_SECONDS

    def bound_met(self, claim: Claim) -> tuple[str, int] | None:
        """Name the bound that keeps a claim from joining, and its value; None when there is room."""
        settings, own = self._settings, self._by_tenant[claim.service_class][claim.tenant]
        if own >= settings.max_waiting - len(self):
            return "flow.line.max_waiting", settings.max_waiting
        if len(self) and self._tokens + claim.tokens > settings.max_waiting_tokens:
            return "flow.line.max_waiting_tokens", settings.max_waiting_tokens
        return None

    def join(self, claim: Claim) -> None:
        """Put a claim into the line."""
        kind = claim.service_class
        if not len(self._orders[kind]):
            self._begun_at[kind] = claim.joined_at
        self._orders[kind].join(claim)
        self._by_tenant[kind][claim.tenant] += 1
        self._weights[kind][claim.tenant] = claim.weight
        self._tokens += claim.tokens

    def leave(self, claim: Claim) -> None:
        """Take out a claim that waits no more and was not served."""
        self._orders[claim.service_class].leave(claim)
        self._forget(claim)

    def next(self, may_run: Callable[[Claim], bool], running: Counter[ServiceClass], limit: int) -> Claim | None:
        """Take out the claim that is next, if one may run.

        Args:
            running: Turns that run, by class.
            limit: Turns that may run at once.
        """
        for kind in self._kinds(running, limit):
            claim = self._orders[kind].next(lambda entry: may_run(entry))  # type: ignore[arg-type]  # only claims join
            if isinstance(claim, Claim):
                self._forget(claim)
                return claim
        return None

    def _kinds(self, running: Counter[ServiceClass], limit: int) -> tuple[ServiceClass, ...]:
        """Return the classes in the order of their right to the next permit."""
        batch_due = running[ServiceClass.BATCH] < max(1, int(self._classes.batch_floor * limit))
        if self._classes.batch_floor and batch_due:
            return (ServiceClass.BATCH, ServiceClass.INTERACTIVE)
        return (ServiceClass.INTERACTIVE, ServiceClass.BATCH)

    def _forget(self, claim: Claim) -> None:
        counts, tenant = self._by_tenant[claim.service_class], claim.tenant
        counts[tenant] -= 1
        if not counts[tenant]:
            del counts[tenant], self._weights[claim.service_class][tenant]
        self._tokens -= claim.tokens
