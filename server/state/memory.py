"""Figures of one gateway, in its memory."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, islice

from headworks.server.clock import Clock
from headworks.server.state.settings import StateSettings
from headworks.server.state.state import LEAST_WAIT_SECONDS, ROUNDING, Bucket, Granted, Refused, Return, Running, Take


@dataclass(slots=True)
class _Level:
    """What a bucket holds, and when that was so."""

    level: float
    at: float
    reservations: int = 0


@dataclass(slots=True)
class _Count:
    """What runs: when each lease runs out, by its name."""

    leases: dict[str, float] = field(default_factory=dict)

    def end_old(self, now: float) -> None:
        for lease in [lease for lease, ends in self.leases.items() if ends <= now]:
            del self.leases[lease]


class MemoryState:
    """A `State` in memory. No call waits for anything, so none is cut in two by another."""

    def __init__(self, settings: StateSettings, clock: Clock) -> None:
        self._max_keys = settings.max_keys
        self._clock = clock
        self._levels: OrderedDict[str, _Level] = OrderedDict()
        self._counts: OrderedDict[str, _Count] = OrderedDict()
        self._lease_numbers = count(1)

    @property
    def keys(self) -> int:
        """Keys that are remembered."""
        return len(self._levels) + len(self._counts)

    async def take(self, takes: Sequence[Take], running: Running | None = None) -> Granted | Refused:
        """See `State`."""
        now = self._clock.now()
        decision: Granted | Refused | None
        found = [self._refilled(take.bucket, now) for take in takes]
        decision = _longest_refusal(takes, found)
        if decision is None and running is not None and not self._has_room(running, now):
            decision = Refused(running, 0.0)
        if decision is None:
            for take, bucket in zip(takes, found, strict=True):
                bucket.level -= take.amount
                bucket.reservations += take.is_reserved
            lease = "" if running is None else self._lease(running, now)
            decision = Granted(tuple([bucket.level for bucket in found]), lease)
        self._forget()
        return decision

    async def settle(self, returns: Sequence[Return], running_key: str = "", lease: str = "") -> None:
        """See `State`."""
        now = self._clock.now()
        for back in returns:
            bucket = self._refilled(back.bucket, now)
            bucket.level = min(float(back.bucket.allowed), bucket.level + back.amount)
            bucket.reservations -= 1
        if held := self._counts.get(running_key):
            held.leases.pop(lease, None)
            if not held.leases:
                del self._counts[running_key]
        self._forget()

    async def look(self, buckets: Sequence[Bucket]) -> tuple[float, ...]:
        """See `State`."""
        now = self._clock.now()
        levels = tuple([self._refilled(bucket, now).level for bucket in buckets])
        self._forget()
        return levels

    def _refilled(self, bucket: Bucket, now: float) -> _Level:
        """Return a bucket with all that has flowed into it, and note that it was seen."""
        held = self._levels.get(bucket.key)
        if held is None:
            held = self._levels[bucket.key] = _Level(float(bucket.allowed), now)
            return held
        self._levels.move_to_end(bucket.key)
        if held.at != now:
            held.level += (now - held.at) * bucket.allowed / bucket.period_seconds
            held.at = now
            if held.level > bucket.allowed:
                held.level = float(bucket.allowed)
        return held

    def _has_room(self, running: Running, now: float) -> bool:
        self._forget_dead(now)
        held = self._counts.get(running.key)
        if held is not None and len(held.leases) >= running.allowed:
            held.end_old(now)
        return (len(held.leases) if held else 0) < running.allowed

    def _lease(self, running: Running, now: float) -> str:
        lease = str(next(self._lease_numbers))
        self._counts.setdefault(running.key, _Count()).leases[lease] = now + running.lease_seconds
        self._counts.move_to_end(running.key)
        return lease

    def _forget_dead(self, now: float) -> None:
        """Forget counts whose last lease has run out; the count that was added to longest ago stands first."""
        while self._counts:
            key, held = next(iter(self._counts.items()))
            if held.leases and held.leases[next(reversed(held.leases))] > now:
                return
            del self._counts[key]

    def _forget(self) -> None:
        """Make room. What is reserved from and what runs is kept, so running turns alone can exceed the bound."""
        surplus = len(self._levels) + len(self._counts) - self._max_keys
        if surplus > 0:
            unused = (key for key, held in self._levels.items() if not held.reservations)
            for key in list(islice(unused, surplus)):
                del self._levels[key]


def _longest_refusal(takes: Sequence[Take], found: Sequence[_Level]) -> Refused | None:
    """Return the refusal with the longest wait; None when every bucket has what it must."""
    longest: Refused | None = None
    for take, held in zip(takes, found, strict=True):
        missing = take.at_least - held.level
        if missing > ROUNDING:
            wait = max(LEAST_WAIT_SECONDS, take.bucket.wait_seconds(missing))
            if longest is None or wait > longest.wait_seconds:
                longest = Refused(take.bucket, wait)
    return longest
