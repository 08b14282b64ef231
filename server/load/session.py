"""One run of the probe: it offers the steps of the plan, watches, and keeps to its bounds."""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from itertools import chain, repeat
from typing import Any, Protocol

from headworks.server.clock import Clock
from headworks.server.load.gauges import Gauges, Peaks
from headworks.server.load.mix import Mix, Turn
from headworks.server.load.moment import Moment, moment_of
from headworks.server.load.notes import Notes, Second
from headworks.server.load.plan import arrivals, next_step
from headworks.server.load.settings import Arrivals, LoadSettings
from headworks.server.load.step import Step, StepResult
from headworks.server.load.strain import StrainMeter
from headworks.server.load.tally import Ending, Figures, State, Tally
from headworks.server.load.window import Window

MOMENT_SECONDS = 1.0
"""Between two moments that are shown."""
_BREATH = 64
"""Turns that are sent in one go when the clock has run ahead; then the event loop may do something else."""
_FULL_PAUSE_SECONDS = 0.1
"""How long a caller waits when this client may open no more turns."""


class Sender(Protocol):
    """Who sends a turn; see `Caller`."""

    async def send(self, turn: Turn, due: float, notes: Notes) -> float:
        """Run one turn to its end and note it; return for how many seconds its caller should stay away."""
        ...


class End(Enum):
    """Why a run ended."""

    COMPLETE = "complete"
    MAX_TURNS = "the bound on turns was reached"
    MAX_SECONDS = "the bound on time was reached"
    INTERRUPTED = "it was interrupted"


@dataclass(frozen=True, slots=True)
class Run:
    """What a whole run has seen."""

    results: tuple[StepResult, ...]
    """In the order of time."""
    moments: tuple[Moment, ...]
    """One for each second."""
    total: Figures
    """Of all turns, those outside the windows included."""
    seconds: float
    end: End
    gauge_reads: int
    failed_gauge_reads: int


class Session:
    """Runs once. `stop` may be called at any time from the same event loop."""

    def __init__(
        self,
        settings: LoadSettings,
        mix: Mix,
        sender: Sender,
        clock: Clock,
        gauges: Gauges | None = None,
        on_moment: Callable[[Moment], None] = lambda _: None,
        on_result: Callable[[StepResult], None] = lambda _: None,
    ) -> None:
        self._settings = settings
        self._mix = mix
        self._sender = sender
        self._clock = clock
        self._on_moment = on_moment
        self._on_result = on_result
        self._strain = StrainMeter(clock)
        self._peaks = Peaks(gauges)
        self._second = Second()
        self._outside = Tally()
        """Of turns that were due in no window."""
        self._window: Window | None = None
        self._step: Step | None = None
        self._open: set[asyncio.Task[float]] = set()
        self._sent = 0
        self._results: list[StepResult] = []
        self._inside: list[Tally] = []
        self._moments: list[Moment] = []
        self._stopping: asyncio.Future[End] = asyncio.get_running_loop().create_future()
        self._started = clock.now()

    def stop(self, end: End = End.INTERRUPTED) -> None:
        """End the run; turns that are open are cut."""
        if not self._stopping.done():
            self._stopping.set_result(end)

    async def run(self) -> Run:
        """Offer step after step until the plan is done, a bound is reached or `stop` is called.

        Raises:
            Exception: a sender failed in a way that it does not note.
        """
        self._started = self._clock.now()
        async with AsyncExitStack() as stack:
            for work in (self._strain.watch(), self._watch(), self._look(), self._end_in_time()):
                await stack.enter_async_context(self._beside(work))
            steps = asyncio.create_task(self._run_steps())
            try:
                await asyncio.wait((steps, self._stopping), return_when=asyncio.FIRST_COMPLETED)
            finally:
                steps.cancel()
                await asyncio.wait((steps,))
                await self._cut()
        if self._stopping.done():
            end = self._stopping.result()
        else:
            steps.result()
            end = End.COMPLETE
        seconds = self._clock.now() - self._started
        return Run(
            tuple(self._results),
            tuple(self._moments),
            Tally.of((self._outside, *self._inside)).figures(seconds),
            seconds,
            end,
            self._peaks.reads,
            self._peaks.failed_reads,
        )

    async def _run_steps(self) -> None:
        while (step := next_step(self._settings, self._results)) is not None:
            await self._run_step(step)

    async def _run_step(self, step: Step) -> None:
        """Offer one level until every turn of its window has ended, so that none of them has it easier at the end."""
        if step.is_fresh and self._open:
            await asyncio.wait(self._open)
        self._step = step
        start = self._clock.now()
        window = Window(start + self._settings.warm_up_seconds, self._settings.window_seconds, len(self._mix.tenants))
        self._window = window
        is_whole = False
        try:
            async with self._beside(self._offer(step, start)):
                await self._clock.sleep(window.start - self._clock.now())
                self._strain.begin()
                self._peaks.begin()
                await self._clock.sleep(window.end - self._clock.now())
                await window.all_ended()
            is_whole = True
        finally:
            if not is_whole:
                await self._cut()
            self._window = None
            self._keep(step, window, is_whole=is_whole)

    def _keep(self, step: Step, window: Window, *, is_whole: bool) -> None:
        self._inside += window.tallies
        if not (is_whole or window.offered):
            return
        result = StepResult(
            step=step,
            started_seconds=window.start - self._started,
            seconds=(seconds := max(0.001, min(self._clock.now(), window.end) - window.start)),
            figures=Tally.of(window.tallies).figures(seconds),
            tenants=tuple(
                (tenant.name, tally.figures(seconds))
                for tenant, tally in zip(self._mix.tenants, window.tallies, strict=True)
            ),
            strain=self._strain.read(),
            gauges=self._peaks.most(),
            is_whole=is_whole,
        )
        self._results.append(result)
        self._on_result(result)

    def _offer(self, step: Step, start: float) -> Coroutine[Any, Any, None]:
        if self._settings.arrivals is Arrivals.OPEN:
            return self._arrive(step.level, start)
        return self._call(int(step.level), start)

    async def _arrive(self, rate: float, start: float) -> None:
        """Send turns at their own times, whatever became of those before.

        A level that is offered again has the same arrivals, so that the two differ by the server alone.
        """
        clock, at_once = self._clock, 0
        chance = random.Random(f"{self._settings.seed} {rate}")  # noqa: S311  # a load, not a secret
        stretches = chain((self._settings.warm_up_seconds,), repeat(self._settings.window_seconds))
        for offset in arrivals(rate, stretches, chance):
            wait = start + offset - clock.now()
            at_once = 0 if wait > 0 else at_once + 1
            if wait > 0 or at_once % _BREATH == 0:
                await clock.sleep(max(0.0, wait))
            self._launch(start + offset)

    async def _call(self, callers: int, start: float) -> None:
        """Let callers send turn after turn. They begin one by one, within the warm-up."""

        async def caller(number: int) -> None:
            begin = start + self._settings.warm_up_seconds * number / callers
            await self._clock.sleep(max(0.0, begin - self._clock.now()))
            while True:
                sent = self._launch(self._clock.now())
                if sent is None:
                    await self._clock.sleep(_FULL_PAUSE_SECONDS)
                    continue
                await asyncio.wait((sent,))  # unlike a plain await, it leaves the turn alone when the step ends
                if sent.cancelled() or sent.exception() is not None:
                    return
                if away := sent.result():
                    await self._clock.sleep(away)

        async with asyncio.TaskGroup() as group:
            for number in range(callers):
                group.create_task(caller(number))

    def _launch(self, due: float) -> asyncio.Task[float] | None:
        """Send a turn; None when a bound of this client keeps it back."""
        if self._sent >= self._settings.max_turns:
            self.stop(End.MAX_TURNS)
            return None
        turn = self._mix.draw()
        window = self._window
        is_inside = window is not None and window.start <= due < window.end
        notes = window.notes(turn.tenant, self._second) if window and is_inside else Notes(self._outside, self._second)
        if len(self._open) >= self._settings.max_open_turns:
            notes.ended(Ending(State.UNSENT, "too many open turns"))
            return None
        self._sent += 1
        task = asyncio.create_task(self._send(turn, due, notes))
        self._open.add(task)
        task.add_done_callback(self._closed)
        return task

    async def _send(self, turn: Turn, due: float, notes: Notes) -> float:
        try:
            notes.sent(max(0.0, self._clock.now() - due))
            return await self._sender.send(turn, due, notes)
        finally:
            notes.cut()  # says nothing of a turn that has ended by itself

    def _closed(self, task: asyncio.Task[float]) -> None:
        self._open.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not self._stopping.done():
            self._stopping.set_exception(error)

    async def _cut(self) -> None:
        """End every open turn, and wait until each has let go of its call."""
        for task in self._open:
            task.cancel()
        if self._open:
            await asyncio.wait(tuple(self._open))

    async def _watch(self) -> None:
        """Note each second."""
        while True:
            await self._clock.sleep(MOMENT_SECONDS)
            at = self._clock.now() - self._started
            moment = moment_of(at, MOMENT_SECONDS, self._step, self._second.take(), len(self._open))
            self._moments.append(moment)
            self._on_moment(moment)

    async def _end_in_time(self) -> None:
        await self._clock.sleep(self._settings.max_seconds)
        self.stop(End.MAX_SECONDS)

    async def _look(self) -> None:
        """Read the server's gauges each second."""
        while True:
            await self._clock.sleep(MOMENT_SECONDS)
            await self._peaks.look()

    @asynccontextmanager
    async def _beside(self, work: Coroutine[Any, Any, None]) -> AsyncGenerator[None, None]:
        """Do something for the length of the block; what it raises ends the run."""

        async def guarded() -> None:
            try:
                await work
            except Exception as error:  # noqa: BLE001  # raised again by run
                if not self._stopping.done():
                    self._stopping.set_exception(error)

        task = asyncio.create_task(guarded())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
