"""How many turns run at once. The rest wait in a line that is bounded too, or are told to come back."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from headworks.server.clock import Clock
from headworks.server.flow.errors import Draining, TooMany
from headworks.server.flow.lobby import Lobby
from headworks.server.flow.settings import FlowSettings


@dataclass(frozen=True, slots=True, eq=False)
class Grant:
    """One turn's leave to run, and whose turn it is."""

    tenant: str
    peer: str
    given: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Admission:
    """Hands out grants, first come first served among those below their share, and takes them back."""

    def __init__(self, settings: FlowSettings, clock: Clock) -> None:
        self.lobby = Lobby(settings)
        """Where calls stay until they have work."""
        self._settings = settings
        self._clock = clock
        self._held = 0
        self._by_tenant: Counter[str] = Counter()
        self._by_peer: Counter[str] = Counter()
        self._line: dict[Grant, None] = {}
        """Turns that wait, longest first."""
        self._is_draining = False
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def held(self) -> int:
        """Turns running now."""
        return self._held

    @property
    def waiting(self) -> int:
        """Turns in line."""
        return len(self._line)

    @asynccontextmanager
    async def grant(self, tenant: str, peer: str) -> AsyncGenerator[Grant, None]:
        """Hold a permit for the length of the block.

        Args:
            tenant: Who is served.
            peer: The host it comes from; "" counts as no host.
        Raises:
            Draining: the server takes nothing new.
            TooMany: the line is full ("flow.max_waiting"), or the wait was too long; names what was waited for.
        """
        grant = Grant(tenant, peer)
        await self._acquire(grant)
        try:
            yield grant
        finally:
            self._release(grant)

    def drain(self) -> None:
        """Refuse new turns from now on, and end silent calls; turns in line are still served."""
        self._is_draining = True
        self.lobby.drain()

    async def wait_idle(self) -> None:
        """Return when no turn runs or waits."""
        await self._idle.wait()

    async def _acquire(self, grant: Grant) -> None:
        if self._is_draining:
            raise Draining("the server is shutting down")
        if self._missing(grant) is None:
            self._give(grant)
            return
        if len(self._line) >= self._settings.max_waiting:
            raise TooMany("flow.max_waiting", self._settings.max_waiting, self._settings.wait_seconds)
        self._line[grant] = None
        self._idle.clear()
        try:
            async with self._clock.timeout(self._settings.wait_seconds):
                await grant.given
        except BaseException as error:
            missing = self._missing(grant) or "max_turns"
            self._leave_line(grant)
            if not isinstance(error, TimeoutError):
                raise
            allowed: int = getattr(self._settings, missing)
            raise TooMany(f"flow.{missing}", allowed, self._settings.wait_seconds) from error

    def _missing(self, grant: Grant) -> str | None:
        """Name the setting that a turn has to wait for; None when it may run."""
        limits = self._settings
        if self._held >= limits.max_turns:
            return "max_turns"
        if self._by_tenant[grant.tenant] >= limits.max_tenant_turns:
            return "max_tenant_turns"
        if grant.peer and self._by_peer[grant.peer] >= limits.max_peer_turns:
            return "max_peer_turns"
        return None

    def _give(self, grant: Grant) -> None:
        self._held += 1
        self._by_tenant[grant.tenant] += 1
        self._by_peer[grant.peer] += 1
        self._idle.clear()
        grant.given.set_result(None)

    def _release(self, grant: Grant) -> None:
        self._held -= 1
        for counts, key in ((self._by_tenant, grant.tenant), (self._by_peer, grant.peer)):
            counts[key] -= 1
            if not counts[key]:
                del counts[key]
        self._serve_line()

    def _leave_line(self, grant: Grant) -> None:
        """Take a turn out of the line; what it was given in the same moment goes to the next one."""
        if grant in self._line:
            del self._line[grant]
            self._note_idle()
        else:
            self._release(grant)

    def _serve_line(self) -> None:
        for grant in list(self._line):
            if self._held >= self._settings.max_turns:
                break
            # One that was cancelled or timed out in this very pass leaves the line by itself.
            if not grant.given.done() and self._missing(grant) is None:
                del self._line[grant]
                self._give(grant)
        self._note_idle()

    def _note_idle(self) -> None:
        if not self._held and not self._line:
            self._idle.set()
