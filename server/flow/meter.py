"""What each tenant has spent, and whether it may spend more."""

from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import islice

from headworks.policy.identity.caller import Caller
from headworks.policy.verdict import Obligations
from headworks.server.flow.allowance import Allowance
from headworks.server.flow.errors import TooMany
from headworks.server.state.state import Bucket, Granted, Refused, Return, Running, State, Take

_PERIODS = (("second", 1.0), ("minute", 60.0), ("day", 86_400.0))
_TURN_RATES = tuple((f"turns_per_{name}", seconds) for name, seconds in _PERIODS)
_TOKEN_RATES = tuple((f"tokens_per_{name}", seconds) for name, seconds in _PERIODS)
_ANY_LEVEL = -(2**53)
"""Lower than any bucket gets; every store of figures keeps so many exact."""
_RUNNING = "max_concurrent_turns"
_RUNNING_RETRY_SECONDS = 1.0
"""Nobody knows when one of a tenant's turns will end; most take seconds."""
_LEASE_MARGIN_SECONDS = 60.0
"""A turn that is ended for its length needs a moment to stop."""


@dataclass(slots=True)
class TenantTotals:
    """One line of the ledger, since the process started."""

    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(slots=True)
class _Account:
    totals: TenantTotals = field(default_factory=TenantTotals)
    running: int = 0


@dataclass(frozen=True, slots=True)
class _Rates:
    """What obligations hold one tenant or subject to, as the figures know it."""

    turns: tuple[Bucket, ...]
    tokens: tuple[Bucket, ...]
    running: Running | None
    admission: tuple[Take, ...]
    """One turn of each rate of turns, and a look at each rate of tokens."""


class Spending:
    """What one running turn spends. Input is charged as it is fed, output was reserved and is settled at the end."""

    def __init__(
        self, state: State, totals: TenantTotals, buckets: Sequence[Bucket], reserved: int, *, is_exact: bool
    ) -> None:
        self._state = state
        self._totals = totals
        self._buckets = buckets
        self._reserved = reserved
        self._is_exact = is_exact
        self.output_tokens = 0
        """Of the answer, as charged so far."""

    @property
    def answer_tokens(self) -> int | None:
        """The most that the answer may have, where it is cut at what is left; what the prompt took of it is gone."""
        return self._reserved if self._is_exact else None

    async def charge_input(self, tokens: int) -> None:
        """Charge tokens of the prompt.

        Raises:
            TooMany: the tenant's minute or day is used up, by what was charged and by what other turns have reserved.
                A second is too short to end a turn for: what is spent over it delays the tenant's next turn.
        """
        if self._buckets:
            least = tokens if self._is_exact else 1 - self._reserved
            decision = await self._state.take(_takes(self._buckets, tokens, least, _ANY_LEVEL))
            if self._is_exact and isinstance(decision, Refused) and tokens < self._reserved:
                self._reserved -= tokens
            else:
                _granted(decision)
        self._totals.input_tokens += tokens

    def charge_output(self, tokens: int) -> None:
        """Charge the whole answer, as far as it came. Called once, however the turn ends."""
        self.output_tokens = tokens
        self._totals.output_tokens += tokens

    async def remaining(self, output_tokens: int) -> tuple[Allowance, ...]:
        """Return what is left of each rate of tokens once so much of what is reserved is charged."""
        if not self._buckets:
            return ()
        unspent, levels = self._reserved - output_tokens, await self._state.look(self._buckets)
        # What flowed in meanwhile may have filled a bucket, and what is given back does not make it fuller.
        left = [
            min(float(bucket.allowed), level + unspent) for bucket, level in zip(self._buckets, levels, strict=True)
        ]
        return _allowances(self._buckets, left)

    def returns(self) -> list[Return]:
        """Return what the end of the turn gives back."""
        return [Return(bucket, self._reserved - self.output_tokens) for bucket in self._buckets]


class Meter:
    """Books tokens by tenant and holds tenants to the rates that policy obliges them to.

    A tenant's callers share its rates, unless policy gives them to each subject. Where policy gives callers different
    ones, for instance by trust, each rate is a bucket of its own: a caller of little trust cannot use up what the
    others have.
    """

    def __init__(self, state: State, max_tenants: int, longest_turn_seconds: float) -> None:
        """Make a meter.

        Args:
            state: Keeps the rates; several gateways may share it. The ledger is this process's own.
            longest_turn_seconds: After it and a margin, a turn that nobody ended counts no more as running.
        """
        self._state = state
        self._max_tenants = max_tenants
        self._rates = lru_cache(max_tenants)(partial(_rates, longest_turn_seconds + _LEASE_MARGIN_SECONDS))
        self._accounts: OrderedDict[str, _Account] = OrderedDict()

    async def admit(self, caller: Caller, obligations: Obligations) -> tuple[Allowance, ...]:
        """Count one turn.

        Returns:
            What is left of each rate.
        Raises:
            TooMany: a rate is used up or reserved; says when there is room again.
        """
        rates = self._rates_of(caller, obligations)
        levels: Sequence[float] = ()
        if rates.admission:
            levels = _granted(await self._state.take(rates.admission)).levels
        self._account(caller.tenant).totals.turns += 1
        return _allowances(rates.turns + rates.tokens, levels)

    @asynccontextmanager
    async def reserve(self, caller: Caller, obligations: Obligations, tokens: int) -> AsyncGenerator[Spending, None]:
        """Keep an answer's ceiling aside for the length of the block, in which the turn runs.

        So a tenant whose turns start together overdraws a rate by at most what one of them may spend. Where answers
        are cut, only what is left is kept aside, the prompt takes from it what is left nowhere else, and no minute and
        no day is overdrawn. However the block ends, what was not used is given back, and the turn runs no more.

        Raises:
            TooMany: a rate is used up or reserved, or too many turns run.
        """
        rates, is_exact = self._rates_of(caller, obligations), obligations.cut_answers
        running, lease = rates.running, ""
        if rates.tokens or running:
            tokens, lease = await self._set_aside(rates, tokens, is_exact=is_exact)
        account = self._account(caller.tenant)
        account.running += 1
        spending = Spending(self._state, account.totals, rates.tokens, tokens, is_exact=is_exact)
        try:
            yield spending
        finally:
            account.running -= 1
            if rates.tokens or running:
                await self._state.settle(spending.returns(), running.key if running else "", lease)

    def totals(self, tenant: str) -> TenantTotals:
        """Return the tenant's line; it changes as more is booked."""
        return self._account(tenant).totals

    async def _set_aside(self, rates: _Rates, most: int, *, is_exact: bool) -> tuple[int, str]:
        """Reserve tokens; return how many, and the lease of the turn that runs.

        Args:
            is_exact: Reserve no more than there is.
        """
        while True:
            tokens = await self._left(rates.tokens, most) if is_exact else most
            takes = _takes(rates.tokens, tokens, tokens if is_exact else 1, 1, is_reserved=True)
            decision = await self._state.take(takes, rates.running)
            if not (is_exact and tokens > 1 and _lacks_tokens(decision)):
                return tokens, _granted(decision).lease

    async def _left(self, buckets: Sequence[Bucket], most: int) -> int:
        """Return how many tokens a minute and a day still have, from 1 to `most`."""
        long = [bucket for bucket in buckets if not _is_short(bucket)]
        return max(1, min([most, *[int(level) for level in await self._state.look(long)]]))

    def _rates_of(self, caller: Caller, obligations: Obligations) -> _Rates:
        return self._rates(caller.tenant, caller.subject if obligations.per_subject else None, obligations)

    def _account(self, tenant: str) -> _Account:
        account = self._accounts.get(tenant)
        if account is None:
            account = self._accounts[tenant] = _Account()
        self._accounts.move_to_end(tenant)
        self._forget()
        return account

    def _forget(self) -> None:
        """Make room. A tenant whose turns run keeps its account, so the bound is exceeded by running turns at most."""
        surplus = len(self._accounts) - self._max_tenants
        if surplus <= 0:
            return
        idle = (tenant for tenant, account in self._accounts.items() if not account.running)
        for tenant in list(islice(idle, surplus)):
            del self._accounts[tenant]


def _rates(lease_seconds: float, tenant: str, subject: str | None, obligations: Obligations) -> _Rates:
    """Return what obligations hold a tenant to, or one subject of it."""
    holder = repr(tenant if subject is None else (tenant, subject))
    turns, tokens = _buckets(holder, obligations, _TURN_RATES), _buckets(holder, obligations, _TOKEN_RATES)
    allowed = obligations.max_concurrent_turns
    return _Rates(
        turns,
        tokens,
        running=None if allowed is None else Running(f"{_RUNNING}:{holder}", allowed, lease_seconds),
        admission=tuple(Take(bucket, 1, 1) for bucket in turns) + tuple(Take(bucket, 0, 1) for bucket in tokens),
    )


def _buckets(holder: str, obligations: Obligations, rates: Sequence[tuple[str, float]]) -> tuple[Bucket, ...]:
    """Return the buckets of those rates that policy sets; the allowed number is in the key, as a bucket's must be."""
    return tuple(
        Bucket(f"{name}:{allowed}:{holder}", allowed, seconds)
        for name, seconds in rates
        if (allowed := getattr(obligations, name)) is not None
    )


def _is_short(bucket: Bucket) -> bool:
    """Whether it holds a second, which is too little to end a turn for."""
    return bucket.period_seconds <= 1


def _takes(
    buckets: Sequence[Bucket], tokens: int, at_least: int, at_least_of_a_second: int, *, is_reserved: bool = False
) -> list[Take]:
    return [
        Take(bucket, tokens, at_least_of_a_second if _is_short(bucket) else at_least, is_reserved) for bucket in buckets
    ]


def _lacks_tokens(decision: Granted | Refused) -> bool:
    """Whether a minute or a day has less than was asked for: another turn, or another gateway, was faster."""
    return isinstance(decision, Refused) and isinstance(decision.lacking, Bucket) and not _is_short(decision.lacking)


def _granted(decision: Granted | Refused) -> Granted:
    """Return what was granted.

    Raises:
        TooMany: it was not; names the obligation.
    """
    if isinstance(decision, Granted):
        return decision
    lacking = decision.lacking
    wait = decision.wait_seconds if isinstance(lacking, Bucket) else _RUNNING_RETRY_SECONDS
    raise TooMany(_limit(lacking), lacking.allowed, wait)


def _allowances(buckets: Sequence[Bucket], levels: Sequence[float]) -> tuple[Allowance, ...]:
    return tuple(
        Allowance(_limit(bucket), bucket.allowed, max(0, int(level)), bucket.wait_seconds(bucket.allowed - level))
        for bucket, level in zip(buckets, levels, strict=True)
    )


def _limit(held_to: Bucket | Running) -> str:
    return f"obligations.{held_to.key.partition(':')[0]}"
