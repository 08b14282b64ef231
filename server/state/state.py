"""The port to figures that several gateways may share: token buckets, and counts of what runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

ROUNDING = 1e-6
"""What sums of fractions may lack when a caller comes back exactly when it was told to."""
LEAST_WAIT_SECONDS = 0.001
"""A shorter wait could be lost in the rounding of a clock, and its caller told again."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """A token bucket. It is full when it is first seen, and refills evenly."""

    key: str
    """Names it, the same in every gateway. Its rate belongs to it: another rate needs another key."""
    allowed: int
    """What it holds when it is full, at least 1."""
    period_seconds: float
    """How long it takes to refill from empty."""

    def wait_seconds(self, missing: float) -> float:
        """Return how long it takes until so much more is there."""
        return max(0.0, missing) * self.period_seconds / self.allowed


@dataclass(frozen=True, slots=True)
class Take:
    """What a decision takes from one bucket, if it may."""

    bucket: Bucket
    amount: int
    """May be more than there is: the level falls below zero then, and others wait until it has risen."""
    at_least: int
    """The level that must be there before; below zero for who may spend from what it has reserved itself."""
    is_reserved: bool = False
    """A settlement follows; the bucket is not forgotten before."""


@dataclass(frozen=True, slots=True)
class Running:
    """One more of what may run at once, if it may."""

    key: str
    allowed: int
    lease_seconds: float
    """When it counts no more though nobody ended it; longer than it can run. So a dead gateway's turns come back."""


@dataclass(frozen=True, slots=True)
class Granted:
    """All of a decision was taken."""

    levels: tuple[float, ...]
    """What each bucket holds now, in the order of the takes."""
    lease: str = ""
    """Names the one that runs until it is settled; "" where none was asked for."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing of a decision was taken."""

    lacking: Bucket | Running
    """The bucket that has room last of those that lack it, or the count that is full."""
    wait_seconds: float
    """When the bucket has room, if nothing else is taken until then; 0 for a count, of which nobody can know it."""


@dataclass(frozen=True, slots=True)
class Return:
    """What goes back into one bucket that was reserved from."""

    bucket: Bucket
    amount: int
    """Below zero when more was spent than reserved."""


class State(Protocol):
    """Figures by key, exact however many ask at once. Each call is one decision and one round trip."""

    async def take(self, takes: Sequence[Take], running: Running | None = None) -> Granted | Refused:
        """Take all of it or nothing.

        Args:
            takes: At most one for each bucket.
        """
        ...

    async def settle(self, returns: Sequence[Return], running_key: str = "", lease: str = "") -> None:
        """Give back what was reserved and not spent, once for each reservation, and end a lease.

        It is done though its caller is cancelled meanwhile: an adapter that has to wait waits in a task of its own. A
        bucket never holds more than is allowed, and a lease that has run out is no error.
        """
        ...

    async def look(self, buckets: Sequence[Bucket]) -> tuple[float, ...]:
        """Return what each bucket holds now."""
        ...
