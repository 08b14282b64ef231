"""Bounded threads for work that would block the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WorkSettings:
    """How many threads one kind of work may have."""

    threads: int = 1
    """Jobs that run at once; each ONNX session brings its own intra-op threads."""


class WorkPool:
    """Runs blocking functions on its own threads. At most one job a waiting caller, so callers bound the queue."""

    def __init__(self, name: str, settings: WorkSettings) -> None:
        self._executor = ThreadPoolExecutor(settings.threads, thread_name_prefix=name)
        self._waiting = 0

    @property
    def waiting(self) -> int:
        """Jobs running or queued."""
        return self._waiting

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` on a thread and return its result; a cancelled wait leaves a started job to finish."""
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, lambda: work(*args, **kwargs))
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Drop queued jobs and let the running ones end."""
        self._executor.shutdown(wait=False, cancel_futures=True)
