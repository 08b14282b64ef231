"""The port to an order: whose turn is next among those that wait."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Entry:
    """One turn, in line or running. Two entries are never equal, whatever they say."""

    tenant: str
    caller: str = ""
    """The subject within the tenant."""
    weight: float = 1.0
    """The tenant's share among tenants that wait, as policy sets it; above 0. The latest entry's holds."""
    tokens: int = 0
    """The most that its answer may have."""
    joined_at: float = 0.0
    """On the clock. One that comes back to the line, as after a preemption, keeps its time, and so its place."""


class Order(Protocol):
    """Whose turn is next among those that wait.

    An entry is waiting after `join` and running after `next` or `started`; after `leave` or `ended` it is neither, and
    nothing is kept for it. Calls come from one thread, and in this order: a call that does not fit the state of its
    entry is a mistake of the one who calls, and what follows from it is not defined.
    """

    def join(self, entry: Entry) -> None:
        """It waits from now on."""
        ...

    def leave(self, entry: Entry) -> None:
        """It waits no more, and was not served: its caller has gone, or its time is over."""
        ...

    def next(self, may_run: Callable[[Entry], bool]) -> Entry | None:
        """Take the entry out of the line that is next among those that may run.

        Args:
            may_run: It has no effect on the order, and is asked at most a few times for an entry.
        Returns:
            An entry that runs from now on; None when none may.
        """
        ...

    def started(self, entry: Entry) -> None:
        """It runs from now on, without having waited."""
        ...

    def charge(self, entry: Entry, input_tokens: int, output_tokens: int) -> None:
        """A running entry has spent so much since the last call. Cheap: it comes with every few tokens."""
        ...

    def ended(self, entry: Entry) -> None:
        """It runs no more."""
        ...

    def counters(self) -> Mapping[str, float]:
        """Return how far each tenant that waits or runs is ahead of its share, in the order's own unit, never below 0.

        Whoever makes metrics of them caps their number. Empty for an order that counts nothing.
        """
        ...

    def __len__(self) -> int:
        """Entries that wait."""
        ...
