"""An event loop whose time jumps to the next timer: hours pass in moments, and in the order in which they would."""

import asyncio
import selectors
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

Result = TypeVar("Result")


class _Leaping(selectors.SelectSelector):
    """Does not wait; it tells the loop how long it would have."""

    def __init__(self) -> None:
        super().__init__()
        self.leapt_seconds = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.leapt_seconds += timeout or 0.0
        return super().select(0)


class _LeapingLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._leaping = _Leaping()
        super().__init__(self._leaping)

    def time(self) -> float:
        return self._leaping.leapt_seconds


class LoopClock:
    """The time of the loop that runs."""

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[asyncio.Timeout]:
        return asyncio.timeout(seconds)


def run_in_virtual_time(work: Coroutine[Any, Any, Result]) -> Result:
    """Run to the end on such a loop. The work waits for timers and its own tasks only, not for threads or sockets."""
    with asyncio.Runner(loop_factory=_LeapingLoop) as runner:
        return runner.run(work)
