"""A model of llm-d's flow control: strict bands of priority, flows in turn within a band, first come within a flow.

Source: llm-d, docs/architecture/core/router/epp/flow-control.md, with `round-robin-fairness-policy` and
`fcfs-ordering-policy`. Only the choice is modelled: no saturation detector, no scheduler behind it.
"""

from collections.abc import Callable, Mapping

from headworks.server.flow.fairness.order import Entry
from headworks.server.flow.fairness.round_robin import RoundRobin


class FlowControl:
    """An order like ours. Within a band it is our round robin."""

    def __init__(self, priority_of: Callable[[str], int]) -> None:
        """Begin.

        Args:
            priority_of: A tenant's; the highest is always served first.
        """
        self._priority_of = priority_of
        self._bands: dict[int, RoundRobin] = {}

    def join(self, entry: Entry) -> None:
        self._bands.setdefault(self._priority_of(entry.tenant), RoundRobin()).join(entry)

    def leave(self, entry: Entry) -> None:
        self._bands[self._priority_of(entry.tenant)].leave(entry)

    def next(self, may_run: Callable[[Entry], bool]) -> Entry | None:
        for priority in sorted(self._bands, reverse=True):
            if (entry := self._bands[priority].next(may_run)) is not None:
                return entry
        return None

    def started(self, entry: Entry) -> None:
        """Nothing is counted."""

    def charge(self, entry: Entry, input_tokens: int, output_tokens: int) -> None:
        """Nothing is counted."""

    def ended(self, entry: Entry) -> None:
        """Nothing is counted."""

    def counters(self) -> Mapping[str, float]:
        return {}

    def __len__(self) -> int:
        return sum(len(band) for band in self._bands.values())
