"""Whoever waits longest is next."""

from collections.abc import Callable, Mapping

from headworks.server.flow.fairness.order import Entry
from headworks.server.flow.fairness.waiting import Waiting


class FirstCome:
    """One line for all. It is fair to nobody: whoever sends most, waits in it most often. All is O(waiting)."""

    def __init__(self) -> None:
        self._line = Waiting()

    def join(self, entry: Entry) -> None:
        self._line.put(entry)

    def leave(self, entry: Entry) -> None:
        self._line.remove(entry)

    def next(self, may_run: Callable[[Entry], bool]) -> Entry | None:
        entry = self._line.first(may_run)
        if entry is not None:
            self._line.remove(entry)
        return entry

    def started(self, entry: Entry) -> None:
        """Nothing is counted."""

    def charge(self, entry: Entry, input_tokens: int, output_tokens: int) -> None:
        """Nothing is counted."""

    def ended(self, entry: Entry) -> None:
        """Nothing is counted."""

    def counters(self) -> Mapping[str, float]:
        return {}

    def __len__(self) -> int:
        return len(self._line)
