"""Counters of those who share something, and the rules that keep them comparable."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from headworks.server.flow.fairness.order import Entry


class Share:
    """One of those who share: a tenant, or a caller of one."""

    __slots__ = ("counter", "name", "turns", "waiting")

    def __init__(self, name: str) -> None:
        self.name = name
        self.counter = 0.0
        """What it has had, divided by its weight. Only differences mean anything."""
        self.turns = 0
        """Those that wait and those that run."""
        self.waiting = 0


S = TypeVar("S", bound=Share)
_CREEP = 0.25
"""Of the pace at which the counters of all who wait would rise if they were served in turn."""


@dataclass(frozen=True, slots=True)
class Choice(Generic[S]):
    """Whose entry is next, and what was seen on the way to it."""

    entry: Entry
    share: S
    least: float
    """The least counter among those with an entry that may run."""
    most: float
    """The greatest counter among all that wait."""
    sharers: int
    """How many wait."""
    passed: tuple[S, ...]
    """Those with less than the least, none of whose entries may run."""


class Shares(Generic[S]):
    """Keeps the counters of those who have a turn that waits or runs, and of some who are in debt.

    Four rules keep counters comparable. Who comes anew is lifted to a floor, the least counter of those that wait, so
    that nobody banks what it did not use, but for a bounded bank. Who waits and may not run, as at its own limit, is
    lifted to the least counter of those that may: it does not bank either. Who has gone is remembered while it is
    ahead of the floor less the bank, so that nobody loses a debt by leaving for a moment. And the floor creeps up with
    what is served, so that an endless row of new names, each of which comes in at the floor, does not keep waiting
    whoever is above it.
    """

    def __init__(self, make: Callable[[str], S], band: float, max_debtors: int, bank: float = 0.0) -> None:
        """Begin with nobody.

        Args:
            make: Makes a share for a name.
            band: Counters that differ by no more than this count as equal.
            bank: Who comes anew may be so far below the floor.
        """
        self._make = make
        self._band = band
        self._max_debtors = max_debtors
        self._bank = bank
        self._active: dict[str, S] = {}
        self._debtors: dict[str, S] = {}
        """Without a turn. Their counters are above the floor less the bank, or were when they went."""
        self._floor = 0.0
        """The highest that the least counter of those that wait is known to have been."""

    def enter(self, name: str) -> S:
        """Count one more turn of this name. O(active) where none of its turns waits yet."""
        share = self._active.get(name)
        if share is None:
            share = self._debtors.pop(name, None) or self._make(name)
            self._active[name] = share
        if not share.waiting:
            self._raise_floor(self._waiting())
            share.counter = max(share.counter, self._floor - self._bank)
        share.turns += 1
        return share

    def exit(self, share: S) -> None:
        """A turn has ended, or has left. O(debtors) at worst."""
        share.turns -= 1
        if share.turns:
            return
        del self._active[share.name]
        if not self._active:
            self._debtors.clear()
            self._floor = 0.0
        elif share.counter > self._floor - self._bank:
            self._debtors[share.name] = share
            self._forget()

    def choose(self, first: Callable[[S], Entry | None]) -> Choice[S] | None:
        """Choose among those with the least counters; in the band it is the longest wait. Nothing changes.

        Args:
            first: Returns the entry of a share that would be next, None when none may run.
        """
        choice: Choice[S] | None = None
        passed: list[S] = []
        shares = sorted(self._waiting(), key=lambda share: share.counter)
        for share in shares:
            if choice is not None and share.counter > choice.least + self._band:
                break
            entry = first(share)
            if entry is None:
                passed.append(share)
            elif choice is None:
                choice = Choice(entry, share, share.counter, shares[-1].counter, len(shares), tuple(passed))
            elif entry.joined_at < choice.entry.joined_at:
                choice = replace(choice, entry=entry, share=share)
        return choice

    def settle(self, choice: Choice[S], cost: float) -> None:
        """The entry that was chosen runs from now on. Its own counter is left to the one who calls.

        Args:
            cost: By what its counter will rise.
        """
        for share in choice.passed:
            share.counter = max(share.counter, choice.least)
        self._floor = max(self._floor, choice.least)
        crept = self._floor + _CREEP * cost / choice.sharers
        self._floor = max(self._floor, min(crept, choice.most + self._bank))

    def started(self, share: S) -> None:
        """An entry runs that was not chosen, since nobody had to be asked."""
        self._floor = max(self._floor, share.counter)

    def ahead(self) -> Mapping[str, float]:
        """Return how far each of those that wait or run is above the floor."""
        self._raise_floor(self._waiting())
        return {name: max(0.0, share.counter - self._floor) for name, share in self._active.items()}

    def __len__(self) -> int:
        """Names that something is kept for."""
        return len(self._active) + len(self._debtors)

    def _waiting(self) -> list[S]:
        return [share for share in self._active.values() if share.waiting]

    def _raise_floor(self, shares: Iterable[S]) -> None:
        least = min((share.counter for share in shares), default=self._floor)
        self._floor = max(self._floor, least)

    def _forget(self) -> None:
        """Keep as many debtors as are allowed; those whom the others have caught up with owe nothing any more."""
        if len(self._debtors) <= self._max_debtors:
            return
        self._raise_floor(self._waiting())
        least = self._floor - self._bank
        self._debtors = {name: share for name, share in self._debtors.items() if share.counter > least}
        if len(self._debtors) > self._max_debtors:
            del self._debtors[min(self._debtors, key=lambda name: self._debtors[name].counter)]
