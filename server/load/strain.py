"""What the load costs the one who makes it: without that, a slow client reads as a slow server."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from headworks.server.clock import Clock
from headworks.server.load.step import Strain
from headworks.server.load.tally import Histogram

SAMPLE_SECONDS = 0.02
"""Between two looks at the loop's lag: enough of them in a short window that its p99 is not its worst."""


@dataclass(frozen=True, slots=True)
class _Mark:
    at: float
    cpu: float
    thread: float


class StrainMeter:
    """Measures this process from a mark on. It must be read on the event loop's own thread."""

    def __init__(
        self,
        clock: Clock,
        cpu_seconds: Callable[[], float] = time.process_time,
        thread_seconds: Callable[[], float] = time.thread_time,
    ) -> None:
        self._clock = clock
        self._cpu_seconds = cpu_seconds
        self._thread_seconds = thread_seconds
        self._lag = Histogram()
        self._mark = self._now()

    def begin(self) -> None:
        """Measure from now on."""
        self._lag = Histogram()
        self._mark = self._now()

    def read(self) -> Strain:
        """Return what was measured since the beginning."""
        now, mark = self._now(), self._mark
        seconds = now.at - mark.at
        if seconds <= 0:
            return Strain(0.0, 0.0, self._lag.quantile(0.99))
        return Strain((now.cpu - mark.cpu) / seconds, (now.thread - mark.thread) / seconds, self._lag.quantile(0.99))

    async def watch(self) -> None:
        """Sample the loop's lag until cancelled."""
        while True:
            due = self._clock.now() + SAMPLE_SECONDS
            await self._clock.sleep(SAMPLE_SECONDS)
            self._lag.add(max(0.0, self._clock.now() - due))

    def _now(self) -> _Mark:
        return _Mark(self._clock.now(), self._cpu_seconds(), self._thread_seconds())
