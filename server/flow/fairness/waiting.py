"""Entries that wait, whoever they belong to."""

from bisect import insort
from collections.abc import Callable
from operator import attrgetter

from headworks.server.flow.fairness.order import Entry

_joined_at = attrgetter("joined_at")


class Waiting:
    """Keeps entries in the order in which they joined, the longest wait first."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, entry: Entry) -> None:
        """Add one, behind all that joined at the same time or before."""
        insort(self._entries, entry, key=_joined_at)

    def remove(self, entry: Entry) -> None:
        """Take one out."""
        self._entries.remove(entry)

    def first(self, may_run: Callable[[Entry], bool]) -> Entry | None:
        """Return the first one that may run, which stays; None when none may."""
        return next((entry for entry in self._entries if may_run(entry)), None)
