"""How soon callers that a server keeps up with are served fully again, once an overload has gone."""

import time
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise

from bench.load.client import Client, Load
from bench.load.step import Plan, seen_by
from bench.under_test import Server

WINDOW_SECONDS = 0.5
FULL_SHARE = 0.9
"""Of the goodput before; windows of a steady load differ by some percent."""
ROW = 2
"""Windows that must be full one after the other."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """Goodput of the steady callers, in tokens per second."""

    before: float
    beside: float
    after: list[float]
    """By window, from the moment at which the others left."""

    @property
    def seconds(self) -> float | None:
        """Until the end of the first full window of a row; None where there was none."""
        is_full = [rate >= FULL_SHARE * self.before for rate in self.after]
        for i in range(len(is_full) - ROW + 1):
            if all(is_full[i : i + ROW]):
                return (i + 1) * WINDOW_SECONDS
        return None


def recover(server: Server, plan: Plan, steady: int, others: int) -> Recovery:
    """Run steady callers alone, beside many others, and alone again."""
    loads = [Load(server.port, n, plan.timing.tokens, plan.deadline_seconds, seed=n) for n in (steady, others)]
    with ExitStack() as stack:
        ours = stack.enter_context(Client(loads[0]))
        theirs = stack.enter_context(Client(loads[1]))
        ours.start()
        time.sleep(plan.warm_seconds)
        began = time.monotonic()
        time.sleep(plan.seconds / 2)
        came = time.monotonic()
        theirs.start()
        time.sleep(plan.seconds)
        theirs.stop()
        left = time.monotonic()
        time.sleep(plan.seconds)
        report = ours.stop()
    windows = int(plan.seconds / WINDOW_SECONDS)
    edges = [left + i * WINDOW_SECONDS for i in range(windows + 1)]
    return Recovery(
        before=seen_by([report], began, came).goodput,
        beside=seen_by([report], came, left).goodput,
        after=[seen_by([report], a, b).goodput for a, b in pairwise(edges)],
    )
