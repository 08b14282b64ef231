"""What each tenant has spent, and whether it may spend more this minute."""

from collections import OrderedDict
from dataclasses import dataclass, field

from headworks.policy.verdict import Obligations
from headworks.server.clock import Clock
from headworks.server.flow.errors import TooMany

_MINUTE_SECONDS = 60.0


@dataclass(slots=True)
class _Bucket:
    """A token bucket that refills evenly and may be overdrawn by what a running turn still spends."""

    level: float
    at: float

    def refill(self, per_minute: int, now: float) -> None:
        self.level = min(per_minute, self.level + (now - self.at) * per_minute / _MINUTE_SECONDS)
        self.at = now


@dataclass(slots=True)
class TenantTotals:
    """One line of the ledger, since the process started."""

    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(slots=True)
class _Account:
    totals: TenantTotals = field(default_factory=TenantTotals)
    turns: _Bucket | None = None
    tokens: _Bucket | None = None


class Meter:
    """Books tokens by tenant and holds tenants to the rates that policy obliges them to."""

    def __init__(self, max_tenants: int, clock: Clock) -> None:
        self._max_tenants = max_tenants
        self._clock = clock
        self._accounts: OrderedDict[str, _Account] = OrderedDict()

    def admit(self, tenant: str, obligations: Obligations) -> None:
        """Count one turn.

        Raises:
            TooMany: the tenant's minute is used up; says when there is room again.
        """
        account = self._account(tenant)
        if (limit := obligations.tokens_per_minute) is not None:
            account.tokens = self._refilled(account.tokens, limit)
            _require(account.tokens, 0.0, "tokens_per_minute", limit)
        if (limit := obligations.turns_per_minute) is not None:
            account.turns = self._refilled(account.turns, limit)
            _require(account.turns, 1.0, "turns_per_minute", limit)
            account.turns.level -= 1
        account.totals.turns += 1

    def book(self, tenant: str, *, input_tokens: int = 0, output_tokens: int = 0) -> None:
        """Add tokens that were used, however the turn ends."""
        account = self._account(tenant)
        account.totals.input_tokens += input_tokens
        account.totals.output_tokens += output_tokens
        if account.tokens is not None:
            account.tokens.level -= input_tokens + output_tokens

    def remaining(self, tenant: str, obligations: Obligations) -> int | None:
        """Return the tokens left this minute, never below 0; None without such an obligation."""
        limit = obligations.tokens_per_minute
        if limit is None:
            return None
        account = self._account(tenant)
        account.tokens = self._refilled(account.tokens, limit)
        return max(0, int(account.tokens.level))

    def totals(self, tenant: str) -> TenantTotals:
        """Return the tenant's line; it changes as more is booked."""
        return self._account(tenant).totals

    def _refilled(self, bucket: _Bucket | None, per_minute: int) -> _Bucket:
        now = self._clock.now()
        if bucket is None:
            return _Bucket(per_minute, now)
        bucket.refill(per_minute, now)
        return bucket

    def _account(self, tenant: str) -> _Account:
        account = self._accounts.setdefault(tenant, _Account())
        self._accounts.move_to_end(tenant)
        while len(self._accounts) > self._max_tenants:
            self._accounts.popitem(last=False)
        return account


def _require(bucket: _Bucket, needed: float, name: str, per_minute: int) -> None:
    if bucket.level < needed or bucket.level <= 0:
        missing = max(needed, 1.0) - bucket.level
        raise TooMany(f"obligations.{name}", per_minute, missing * _MINUTE_SECONDS / max(per_minute, 1))
