"""One tenant after the other, one request each."""

from collections import OrderedDict
from collections.abc import Callable, Mapping

from headworks.server.flow.fairness.order import Entry
from headworks.server.flow.fairness.waiting import Waiting


class RoundRobin:
    """A ring of the tenants that wait. Within a tenant, whoever waits longest is next.

    Neither weights nor tokens count: whoever asks for more with each request gets more. All is O(waiting).
    """

    def __init__(self) -> None:
        self._ring: OrderedDict[str, Waiting] = OrderedDict()
        """The tenant that was served longest ago comes first."""

    def join(self, entry: Entry) -> None:
        self._ring.setdefault(entry.tenant, Waiting()).put(entry)

    def leave(self, entry: Entry) -> None:
        line = self._ring[entry.tenant]
        line.remove(entry)
        if not line:
            del self._ring[entry.tenant]

    def next(self, may_run: Callable[[Entry], bool]) -> Entry | None:
        for tenant, line in self._ring.items():
            if (entry := line.first(may_run)) is not None:
                self._ring.move_to_end(tenant)
                self.leave(entry)
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
        return sum(len(line) for line in self._ring.values())
