"""What each tenant has spent, and whether it may spend more this minute."""

from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice

from headworks.policy.verdict import Obligations
from headworks.server.clock import Clock
from headworks.server.flow.errors import TooMany

_MINUTE_SECONDS = 60.0
_ROUNDING = 1e-6
"""Tokens that sums of fractions may lack when a caller comes back exactly when it was told to."""


@dataclass(slots=True)
class _Bucket:
    """A token bucket that refills evenly. One turn may overdraw it by what it spends itself."""

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
    reserved: int = 0
    """Tokens that running turns may still answer with."""


class Spending:
    """What one running turn spends. Input is charged as it is fed, output when the turn ends."""

    def __init__(self, account: _Account, per_minute: int | None, reserved: int, clock: Clock) -> None:
        self._account = account
        self._clock = clock
        self._per_minute = per_minute
        self._reserved = reserved

    def charge_input(self, tokens: int) -> None:
        """Charge tokens of the prompt.

        Raises:
            TooMany: the tenant's minute is used up, by what was charged and by what other turns have reserved.
        """
        if self._per_minute is not None and self._account.tokens is not None:
            self._account.tokens.refill(self._per_minute, self._clock.now())
            others = self._account.reserved - self._reserved
            _require(self._account.tokens, 0.0, others, "tokens_per_minute", self._per_minute)
            self._account.tokens.level -= tokens
        self._account.totals.input_tokens += tokens

    def charge_output(self, tokens: int) -> None:
        """Charge the whole answer, as far as it came. Called once, however the turn ends."""
        if self._account.tokens is not None:
            self._account.tokens.level -= tokens
        self._account.totals.output_tokens += tokens

    def remaining(self, output_tokens: int) -> int | None:
        """Return the tokens left this minute once the answer is charged, never below 0; None without a rate."""
        if self._per_minute is None or self._account.tokens is None:
            return None
        return max(0, int(self._account.tokens.level) - output_tokens)


class Meter:
    """Books tokens by tenant and holds tenants to the rates that policy obliges them to."""

    def __init__(self, max_tenants: int, clock: Clock) -> None:
        self._max_tenants = max_tenants
        self._clock = clock
        self._accounts: OrderedDict[str, _Account] = OrderedDict()

    def admit(self, tenant: str, obligations: Obligations) -> None:
        """Count one turn.

        Raises:
            TooMany: the tenant's minute is used up or reserved; says when there is room again.
        """
        account = self._account(tenant)
        self._require_tokens(account, obligations)
        if (limit := obligations.turns_per_minute) is not None:
            account.turns = self._refilled(account.turns, limit)
            _require(account.turns, 1.0, 0, "turns_per_minute", limit)
            account.turns.level -= 1
        account.totals.turns += 1

    @contextmanager
    def reserve(self, tenant: str, obligations: Obligations, tokens: int) -> Generator[Spending, None, None]:
        """Keep an answer's ceiling aside for the length of the block, in which the turn runs.

        So a tenant whose turns start together overdraws its minute by at most what one of them may spend.

        Raises:
            TooMany: the tenant's minute is used up or reserved.
        """
        account = self._account(tenant)
        self._require_tokens(account, obligations)
        account.reserved += tokens
        try:
            yield Spending(account, obligations.tokens_per_minute, tokens, self._clock)
        finally:
            account.reserved -= tokens

    def totals(self, tenant: str) -> TenantTotals:
        """Return the tenant's line; it changes as more is booked."""
        return self._account(tenant).totals

    def _require_tokens(self, account: _Account, obligations: Obligations) -> None:
        if (limit := obligations.tokens_per_minute) is not None:
            account.tokens = self._refilled(account.tokens, limit)
            _require(account.tokens, 0.0, account.reserved, "tokens_per_minute", limit)

    def _refilled(self, bucket: _Bucket | None, per_minute: int) -> _Bucket:
        now = self._clock.now()
        if bucket is None:
            return _Bucket(per_minute, now)
        bucket.refill(per_minute, now)
        return bucket

    def _account(self, tenant: str) -> _Account:
        account = self._accounts.setdefault(tenant, _Account())
        self._accounts.move_to_end(tenant)
        self._forget()
        return account

    def _forget(self) -> None:
        """Make room. A tenant whose turns run keeps its account, so the bound is exceeded by running turns at most."""
        surplus = len(self._accounts) - self._max_tenants
        if surplus <= 0:
            return
        idle = (tenant for tenant, account in self._accounts.items() if not account.reserved)
        for tenant in list(islice(idle, surplus)):
            del self._accounts[tenant]


def _require(bucket: _Bucket, needed: float, reserved: int, name: str, per_minute: int) -> None:
    level = bucket.level - reserved
    if level + _ROUNDING < needed or level <= 0:
        missing = max(needed, 1.0) - level
        raise TooMany(f"obligations.{name}", per_minute, missing * _MINUTE_SECONDS / max(per_minute, 1))
