"""Where calls stay that have sent no input yet. They cost their stream and nothing else, and they go first."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from headworks.server.flow.errors import Draining, FlowError, TooMany
from headworks.server.flow.settings import FlowSettings


class _Call:
    """One silent call."""

    def __init__(self, tenant: str, peer: str) -> None:
        self.tenant = tenant
        self.peer = peer
        self.limit = asyncio.timeout(None)
        self.cause: FlowError | None = None

    def end(self, cause: FlowError) -> None:
        """Let the call leave with this error."""
        self.cause = cause
        self.limit.reschedule(asyncio.get_running_loop().time())


class Lobby:
    """Keeps a bounded number of silent calls: where one more would be too many, the oldest one is ended."""

    def __init__(self, settings: FlowSettings) -> None:
        self._settings = settings
        self._calls: dict[_Call, None] = {}
        """Oldest first, as in the next two."""
        self._by_tenant: dict[str, dict[_Call, None]] = {}
        self._by_peer: dict[str, dict[_Call, None]] = {}
        self._is_draining = False

    def __len__(self) -> int:
        """Calls that are silent now."""
        return len(self._calls)

    @asynccontextmanager
    async def stay(self, tenant: str, peer: str) -> AsyncGenerator[None, None]:
        """Count a call as silent for the length of the block.

        Raises:
            Draining: the server takes nothing new, or began to drain during the block.
            TooMany: the call was the oldest one when another came for which there was no room.
        """
        if self._is_draining:
            raise Draining("the server is shutting down")
        call = _Call(tenant, peer)
        self._make_room(call)
        self._put(call)
        try:
            async with call.limit:
                yield
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

    def _make_room(self, call: _Call) -> None:
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

    def _end_oldest(self, calls: dict[_Call, None], limit: str, allowed: int) -> None:
        self._end(next(iter(calls)), TooMany(f"flow.{limit}", allowed, self._settings.wait_seconds))

    def _end(self, call: _Call, cause: FlowError) -> None:
        self._remove(call)
        call.end(cause)

    def _put(self, call: _Call) -> None:
        self._calls[call] = None
        self._by_tenant.setdefault(call.tenant, {})[call] = None
        self._by_peer.setdefault(call.peer, {})[call] = None

    def _remove(self, call: _Call) -> None:
        if call not in self._calls:
            return
        del self._calls[call]
        for groups, key in ((self._by_tenant, call.tenant), (self._by_peer, call.peer)):
            del groups[key][call]
            if not groups[key]:
                del groups[key]
