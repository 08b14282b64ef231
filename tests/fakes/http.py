"""Fakes of the HTTP side's ports."""

import asyncio
from dataclasses import dataclass, field

from headworks.policy.bundles.active import PolicyInForce


@dataclass
class SwitchedReadiness:
    """Ready when nothing is missing."""

    waiting_for: tuple[str, ...] = ()

    @property
    def is_ready(self) -> bool:
        return not self.waiting_for

    def missing(self) -> tuple[str, ...]:
        return self.waiting_for


@dataclass
class HeldPolicy:
    """Says that the policy it holds is in force."""

    policy: PolicyInForce | None

    def active(self) -> PolicyInForce | None:
        return self.policy


class BrokenBundles:
    """Raises an exception whose message holds a secret."""

    def active(self) -> PolicyInForce | None:
        raise RuntimeError("cannot open s3://key:hunter2@bucket")


@dataclass
class RecordingHttpObserver:
    """Keeps what it is told."""

    finished: list[tuple[str, str, int]] = field(default_factory=list)
    failed: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    has_news: asyncio.Event = field(default_factory=asyncio.Event)

    def request_finished(self, method: str, route: str, status: int, milliseconds: float) -> None:
        assert milliseconds >= 0
        self.finished.append((method, route, status))
        self.has_news.set()

    async def until_finished(self, requests: int) -> None:
        """Wait until that many requests are known."""
        while len(self.finished) < requests:
            self.has_news.clear()
            await self.has_news.wait()

    def request_failed(self, error_type: str, stack: tuple[str, ...]) -> None:
        self.failed.append((error_type, stack))
