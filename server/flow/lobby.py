"""Where calls stay that have sent no input yet. They cost their stream and nothing else, and they go first."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from headworks.server.clock import Clock
from headworks.server.flow.errors import Draining, FlowError, TooMany
from headworks.server.flow.settings import FlowSettings

_COMING_SECONDS = 1.0
"""A call that has just said what it wants is about to send its input; one still silent after this long may stay so."""


_RETRY_SECONDS = 5.0
"""What a caller is told that stayed silent too long."""


class SilentCall:
    """One silent call."""

    def __init__(self, tenant: str, peer: str) -> None:
        self.tenant = tenant
        self.peer = peer
        self.came_at = 0.0
        """When it had said what it wants, on the clock."""
        self.is_coming = False
        """It is about to send its input, and counts before others that come."""
        self.limit = asyncio.timeout(None)
        self.cause: FlowError | None = None

    def end(self, cause: FlowError) -> None:
        """Let the call leave with this error."""
        self.cause = cause
        self.limit.reschedule(asyncio.get_running_loop().time())


class Lobby:
    """Keeps a bounded number of silent calls: where one more would be too many, the oldest one is ended."""

    def __init__(self, settings: FlowSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._coming: deque[SilentCall] = deque()
        self._coming_by_tenant: Counter[str] = Counter()
        self._calls: dict[SilentCall, None] = {}
        """Oldest first, as in the next two."""
        self._by_tenant: dict[str, dict[SilentCall, None]] = {}
        self._by_peer: dict[str, dict[SilentCall, None]] = {}
        self._is_draining = False

    def __len__(self) -> int:
        """Calls that are silent now."""
        return len(self._calls)

    def coming(self, tenant: str) -> int:
        """Return how many calls that have just come will want a permit before one more of this tenant.

        As in the line, every other tenant has at most as many turns before it as this one has itself.
        """
        self._forget_coming()
        own = self._coming_by_tenant[tenant]
        return own + sum(min(count, own + 1) for other, count in self._coming_by_tenant.items() if other != tenant)

    def comes(self, call: SilentCall) -> None:
        """Count a call among those that are about to send their input."""
        call.is_coming, call.came_at = True, self._clock.now()
        self._coming.append(call)
        self._coming_by_tenant[call.tenant] += 1

    @asynccontextmanager
    async def stay(self, tenant: str, peer: str) -> AsyncGenerator[SilentCall, None]:
        """Count a call as silent for the length of the block.

        Raises:
            Draining: the server takes nothing new, or began to drain during the block.
            TooMany: the call was the oldest one when another came for which there was no room.
        """
        if self._is_draining:
            raise Draining("the server is shutting down")
        call = SilentCall(tenant, peer)
        self._make_room(call)
        self._put(call)
        try:
            async with call.limit:
                yield call
        except TimeoutError:
            if call.cause is None:
                raise
            raise call.cause from None
        finally:
            self._remove(call)

    def drain(self) -> None:
        """End all silent calls, and refuse new ones from now on."""
        self._is_draining = True
        for call in list(self._calls):
            self._end(call, Draining("the server is shutting down"))

    def _make_room(self, call: SilentCall) -> None:
        """End the oldest call of each that has its share: first of the tenant, then of the host, then of the fullest.

        A tenant at its limit so never ends the calls of others that share its host.
        """
        limits = self._settings
        own_tenant = self._by_tenant.get(call.tenant, {})
        if len(own_tenant) >= limits.max_tenant_silent_calls:
            self._end_oldest(own_tenant, "max_tenant_silent_calls", limits.max_tenant_silent_calls)
        own_peer = self._by_peer.get(call.peer, {})
        if call.peer and len(own_peer) >= limits.max_peer_silent_calls:
            self._end_oldest(own_peer, "max_peer_silent_calls", limits.max_peer_silent_calls)
        if len(self._calls) >= limits.max_silent_calls:
            fullest = max(self._by_peer.values(), key=len)
            self._end_oldest(fullest, "max_silent_calls", limits.max_silent_calls)

    def _end_oldest(self, calls: dict[SilentCall, None], limit: str, allowed: int) -> None:
        self._end(next(iter(calls)), TooMany(f"flow.{limit}", allowed, _RETRY_SECONDS))

    def _end(self, call: SilentCall, cause: FlowError) -> None:
        self._remove(call)
        call.end(cause)

    def _put(self, call: SilentCall) -> None:
        self._calls[call] = None
        self._by_tenant.setdefault(call.tenant, {})[call] = None
        self._by_peer.setdefault(call.peer, {})[call] = None

    def _remove(self, call: SilentCall) -> None:
        if call not in self._calls:
            return
        del self._calls[call]
        self._come(call)
        for groups, key in ((self._by_tenant, call.tenant), (self._by_peer, call.peer)):
            del groups[key][call]
            if not groups[key]:
                del groups[key]

    def _forget_coming(self) -> None:
        latest = self._clock.now() - _COMING_SECONDS
        while self._coming and (not self._coming[0].is_coming or self._coming[0].came_at <= latest):
            self._come(self._coming.popleft())

    def _come(self, call: SilentCall) -> None:
        """Count a call no more among those that are about to send their input."""
        if call.is_coming:
            call.is_coming = False
            self._coming_by_tenant[call.tenant] -= 1
            if not self._coming_by_tenant[call.tenant]:
                del self._coming_by_tenant[call.tenant]
