"""Who may run, who waits, and who is told to come back."""

import asyncio
import math
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from headworks.server.clock import Clock
from headworks.server.flow.claim import Claim
from headworks.server.flow.errors import Draining, FlowError, TooLate, TooMany
from headworks.server.flow.fairness.orders import order_of
from headworks.server.flow.figures import FlowFigures
from headworks.server.flow.forecast import Forecast
from headworks.server.flow.grant import Grant
from headworks.server.flow.limit import EngineSigns, FlowLimit, Pressure
from headworks.server.flow.line import Line
from headworks.server.flow.lobby import Lobby, SilentCall
from headworks.server.flow.pace import Pace
from headworks.server.flow.running import Running
from headworks.server.flow.service_class import ServiceClass
from headworks.server.flow.settings import FlowSettings
from headworks.server.flow.watch import AlarmObserver, FlowWatch, Signal, SilentAlarms

_TOKENS = "flow.limit.cache_overcommit"


class Admission:
    """Hands out grants up to a limit that finds itself. The rest wait in a short line, or are refused at once."""

    def __init__(
        self,
        settings: FlowSettings,
        clock: Clock,
        load: Callable[[], EngineSigns],
        observer: AlarmObserver | None = None,
    ) -> None:
        """Open.

        Args:
            load: The engine's load of the moment.
            observer: Is told of bursts and jitter.
        """
        self.lobby = Lobby(settings, clock)
        """Where calls stay until they have work."""
        self.pace = Pace(settings.pace, clock)
        self.limit = FlowLimit(settings, self.pace, load)
        self.watch = FlowWatch(settings.watch, observer or SilentAlarms())
        """Knows whether what flows is out of its usual range."""
        self.admitted: Counter[ServiceClass] = Counter()
        """Turns that were given a permit, by class."""
        self.refused: Counter[str] = Counter()
        """Turns that were refused, by the limit that was met."""
        self._settings = settings
        self._clock = clock
        self._load = load
        self._orders = {kind: order_of(settings.fairness) for kind in ServiceClass}
        self._line = Line(self._orders, settings.line, settings.classes)
        self._forecast = Forecast(settings.line.max_retry_seconds)
        self._running = Running()
        self._is_draining = False
        self._is_short = False
        """Whether the next one in line waits for tokens, so that whoever comes must not pass it by needing fewer."""
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def held(self) -> int:
        """Turns running now."""
        return self._running.turns

    @property
    def waiting(self) -> int:
        """Turns in line."""
        return len(self._line)

    def knock(self, claim: Claim) -> None:
        """Refuse a call before anything of it is read, while the line is standing. Raises as `expect`."""
        self.watch.arrived(self._clock.now())
        if self._is_draining or self._line.is_standing(self._clock.now()):
            self._check_coming(claim)

    def expect(self, claim: Claim, call: SilentCall) -> None:
        """Refuse a turn at once that could not run in time, before anything is spent on it.

        Args:
            call: Its stay in the lobby; from now on it counts before others that come.
        Raises:
            Draining: the server takes nothing new.
            TooMany: the line is full, or the wait would be too long.
            TooLate: it could not end before its deadline.
        """
        self._check_coming(claim)
        self.lobby.comes(call)

    @asynccontextmanager
    async def grant(self, claim: Claim) -> AsyncGenerator[Grant, None]:
        """Hold a permit for the length of the block.

        Raises:
            Draining, TooMany, TooLate: as `expect`; or the wait turned out too long, which names what was waited for.
        """
        await self._acquire(claim)
        order = self._orders[claim.service_class]
        grant = Grant(claim, order, self._running, self.limit, self.watch, self.pace, self._clock)
        try:
            yield grant
        finally:
            grant.ended()
            if grant.is_finished:
                self._forecast.ended(self._clock.now() - grant.began_at, grant.output_tokens)
            self._release(claim, grant.input_tokens)

    async def run(self) -> None:
        """Adapt the limits until cancelled."""
        while True:
            await self._clock.sleep(self._settings.limit.interval_seconds)
            self.look()

    def look(self) -> None:
        """Adapt the limits once."""
        self._forecast.look(self._clock.now())
        self.pace.is_sparing = self._line.is_standing(self._clock.now())
        is_alarmed = any(self.watch.is_alarmed(signal) for signal in (Signal.GAPS, Signal.CACHE_SWING))
        turns, needed = self._running.most_since(), self._forecast.needed_turns
        self.limit.look(turns, self._running.tokens, needed, is_alarmed=is_alarmed)
        self.watch.engine(self._load(), self._clock.now(), self._running.answering)
        self._serve_line()

    def figures(self) -> FlowFigures:
        """Return what an operator is shown."""
        line, limit, running = self._line, self.limit, self._running
        return FlowFigures(
            held=running.turns,
            limit=limit.turns,
            token_limit=limit.tokens,
            outstanding_tokens=running.tokens,
            limited_by="" if limit.pressure is Pressure.NONE else limit.pressure.value,
            waiting_by_class={kind.value: line.waiting(kind) for kind in ServiceClass},
            waiting_tokens=line.tokens,
            silent=len(self.lobby),
            admitted_by_class={kind.value: self.admitted[kind] for kind in ServiceClass},
            refused_by_reason=dict(self.refused),
            counters_by_tenant=dict(self._orders[ServiceClass.INTERACTIVE].counters()),
            loop_lag_seconds=self.pace.lag_seconds,
            message_wait_seconds=self.pace.wait_seconds,
        )

    def drain(self) -> None:
        """Refuse new turns from now on, and end silent calls; turns in line are still served."""
        self._is_draining = True
        self.lobby.drain()

    async def wait_idle(self) -> None:
        """Return when no turn runs or waits."""
        await self._idle.wait()

    async def _acquire(self, claim: Claim) -> None:
        self._check(claim, 0, is_free=not self._is_short)
        missing = self._missing(claim)
        if missing is None and not self._is_short:
            self._orders[claim.service_class].started(claim)
            self._give(claim)
            return
        self._line.join(claim)
        self._idle.clear()
        if missing is None:
            self._serve_line()  # its class or its tenant may be first in turn
        self._is_short |= missing is not None and missing[0] == _TOKENS
        now = self._clock.now()
        longest = min(self._max_wait_seconds(claim, now), claim.deadline - now)
        missing = None
        try:
            async with self._clock.timeout(longest):
                try:
                    await claim.given
                except BaseException:
                    missing = self._missing(claim)
                    self._leave_line(claim)
                    raise
        except TooLate as error:
            self._count(error)
            raise
        except TimeoutError as error:
            raise self._waited(missing) from error

    def _check_coming(self, claim: Claim) -> None:
        """Refuse a call that would wait too long behind those that have come; kept places are room for it as well."""
        coming, turns = self.lobby.coming(claim.tenant), self.limit.turns
        self._check(claim, coming, is_free=coming < turns + self._newcomer_room(claim, turns) - self.held)

    def _check(self, claim: Claim, coming: int, *, is_free: bool) -> None:
        """Refuse a turn that may not join the line, unless it need not wait.

        Args:
            coming: Turns that will join before it.
            is_free: It may run without waiting, where its own limits allow.
        """
        if self._is_draining:
            raise Draining("the server is shutting down")
        if is_free and self._missing(claim) is None:
            return
        if (error := self._hindrance(claim, coming)) is not None:
            self._count(error)
            try:
                raise error
            finally:
                del error  # else this frame and the error hold each other until the collector stops the event loop

    def _missing(self, claim: Claim) -> tuple[str, int] | None:
        """Name the limit that a turn has to wait for, and its value; None when it may run."""
        limits, running, turns = self._settings, self._running, self.limit.turns
        if running.turns >= limits.max_turns:
            return "flow.max_turns", limits.max_turns
        if running.by_tenant[claim.tenant] >= limits.max_tenant_turns:
            return "flow.max_tenant_turns", limits.max_tenant_turns
        if claim.peer and running.by_peer[claim.peer] >= limits.max_peer_turns:
            return "flow.max_peer_turns", limits.max_peer_turns
        if running.turns >= turns + self._newcomer_room(claim, turns):
            self.limit.met_turns()
            return "flow.limit", turns
        batch_room = max(1, int(turns * (1 - limits.classes.interactive_floor)))
        if claim.service_class is ServiceClass.BATCH and running.by_class[ServiceClass.BATCH] >= batch_room:
            return "flow.classes.interactive_floor", batch_room
        if running.turns and running.tokens + claim.tokens > self.limit.tokens:
            self.limit.met_tokens()
            return _TOKENS, self.limit.tokens
        return None

    def _newcomer_room(self, claim: Claim, turns: int) -> int:
        """Return the places above the limit that a turn may take because its tenant runs less than an equal share.

        A tenant with more than one turn in line gets none: equal places would undo the order, by which those with the
        larger turns run fewer at once.
        """
        tenants, running = max(len(self._running.by_tenant), self._line.tenants, 1), self._running.by_tenant
        if claim.service_class is ServiceClass.BATCH or running[claim.tenant] >= turns / (tenants + 1):
            return 0
        if self._line.waiting_of(claim.tenant) > 1:
            return 0
        return math.ceil(self._settings.newcomer_share * turns)

    def _hindrance(self, claim: Claim, coming: int) -> FlowError | None:
        """Return why a turn that has to wait should not even wait; None when it may join the line."""
        now, at_once = self._clock.now(), max(1, self.limit.turns)
        if (bound := self._line.bound_met(claim)) is not None:
            return TooMany(*bound, self._retry_seconds(self._forecast.wait_seconds(0, at_once)))
        wait = self._forecast.wait_seconds(self._line.ahead(claim) + coming, at_once)
        allowed = self._max_wait_seconds(claim, now)
        if (len(self._line) or coming) and wait > allowed:
            kind = "batch_seconds" if claim.service_class is ServiceClass.BATCH else "interactive_seconds"
            return TooMany(f"flow.line.{kind}", allowed, self._retry_seconds(wait - allowed))
        return self._lateness(claim, wait)

    def _max_wait_seconds(self, claim: Claim, now: float) -> float:
        turn_seconds = self._forecast.wait_seconds(0, self.limit.turns)
        return self._line.max_wait_seconds(claim.service_class, now, turn_seconds)

    def _lateness(self, claim: Claim, wait_seconds: float) -> TooLate | None:
        """Return an error for a turn that would not end before its deadline."""
        needed, left = wait_seconds + self._answer_seconds(claim), claim.deadline - self._clock.now()
        return TooLate(needed, left, self._retry_seconds(wait_seconds)) if needed > left else None

    def _answer_seconds(self, claim: Claim) -> float:
        """Estimate the time from a permit to the last token."""
        tokens = min(self._forecast.answer_tokens, claim.tokens) if claim.tokens else self._forecast.answer_tokens
        return self.limit.first_tokens.mean_seconds + tokens * self.limit.gaps.mean_seconds

    def _waited(self, missing: tuple[str, int] | None) -> TooMany:
        name, allowed = missing or ("flow.limit", self.limit.turns)
        wait = self._forecast.wait_seconds(self.waiting, self.limit.turns)
        refusal = TooMany(name, allowed, self._retry_seconds(wait))
        self._count(refusal)
        return refusal

    def _retry_seconds(self, room_in_seconds: float) -> float:
        return self._forecast.retry_seconds(self._clock.now(), room_in_seconds, self.limit.turns)

    def _count(self, error: FlowError) -> None:
        self._line.refused(self._clock.now())
        self.refused[error.limit if isinstance(error, TooMany) else "deadline"] += 1

    def _give(self, claim: Claim) -> None:
        self._running.add(claim)
        self.admitted[claim.service_class] += 1
        self._idle.clear()
        claim.given.set_result(None)

    def _release(self, claim: Claim, input_tokens: int = 0) -> None:
        self._orders[claim.service_class].ended(claim)
        self._running.remove(claim, input_tokens)
        self._serve_line()

    def _leave_line(self, claim: Claim) -> None:
        """Take a turn out of the line; what it was given in the same moment goes to the next one."""
        if claim.given.done() and not claim.given.cancelled() and claim.given.exception() is None:
            self._release(claim)
        elif not claim.given.done() or claim.given.cancelled():
            self._line.leave(claim)
            self._is_short &= len(self._line) > 0
        self._note_idle()

    def _serve_line(self) -> None:
        """Give permits to those that wait, as far as there is room; what would be too late is told so."""
        while (claim := self._next()) is not None:
            if (late := self._lateness(claim, 0.0)) is not None:
                self._orders[claim.service_class].ended(claim)
                claim.given.set_exception(late)
            else:
                self._give(claim)
        self._note_idle()

    def _next(self) -> Claim | None:
        """Take the next claim out of the line that may run; one that lacks tokens lets nobody pass who needs fewer."""
        is_short = False

        def may_run(claim: Claim) -> bool:
            nonlocal is_short
            # One that was cancelled or timed out in this very pass leaves the line by itself.
            if is_short or claim.given.done():
                return False
            missing = self._missing(claim)
            is_short = missing is not None and missing[0] == _TOKENS
            return missing is None

        claim = self._line.next(may_run, self._running.by_class, self.limit.turns) if len(self._line) else None
        self._is_short = is_short
        return claim

    def _note_idle(self) -> None:
        if not self.held and not len(self._line):
            self._idle.set()
