"""Starts the parts of a gateway, runs them until told to stop, and drains."""

import asyncio
import gc
import logging
import resource
import signal
from contextlib import AsyncExitStack
from enum import IntEnum
from typing import Any, NoReturn

import uvloop

from headworks.intake.errors import IntakeError
from headworks.policy.errors import PolicyError
from headworks.server.clock import Clock, SystemClock
from headworks.server.engine.errors import EngineError, EngineLost
from headworks.server.engine.supervised import EngineNews, SupervisedEngine
from headworks.server.main.doors import Doors, open_doors
from headworks.server.main.judge import open_policy
from headworks.server.main.spool import SpoolWatch
from headworks.server.main.turns import TurnParts, open_turns
from headworks.server.readiness import Readiness
from headworks.server.settings import Settings, unread_variables
from headworks.server.telemetry.log import log_events
from headworks.server.telemetry.metrics import process_registry
from headworks.server.visit.address import with_port

_log = logging.getLogger("headworks.server")

_COLLECTIONS = (5_000, 100, 20)
"""Python's collector looks at new objects after so many of them, at older ones after so many looks, and so on. A call
leaves it five objects, so it need not look often; by Python's own figures it took a tenth of the CPU under load."""


class ExitCode(IntEnum):
    """How the process ended, for whoever started it; the command line itself ends with 2 at a wrong option."""

    DRAINED = 0
    FAILED = 1
    """A part could not start or could not end."""
    ENGINE_LOST = 3
    """The engine died more often than `engine.max_restarts` allows; a new process, or another machine, may help."""


def serve(settings: Settings) -> int:
    """Serve until SIGTERM or SIGINT, or until the engine is lost, then drain. Blocks.

    Returns:
        The process's exit code, one of `ExitCode`.
    """
    log_events(settings.log_level)
    _raise_file_limit()
    if unread := unread_variables():
        _log.warning("settings.unread_variables", extra={"names": ",".join(unread)})
    return uvloop.run(Gateway(settings).run())


class Gateway:
    """One process: its parts, started in order and let go of in the reverse one."""

    def __init__(self, settings: Settings) -> None:
        self.rpc_port = 0
        """The bound ports, once listening."""
        self.http_port = 0
        self._settings = settings
        self._clock: Clock = SystemClock()
        self._stopping = asyncio.Event()
        self._hurrying = asyncio.Event()
        """Set by the second signal: the drain ends at once."""
        self._watching: asyncio.Task[NoReturn] | None = None
        """Follows the engine, once it has started; it ends when the engine is lost."""
        self._readiness = Readiness(("models", "policy", "engine"))

    async def run(self) -> int:
        """Start, serve and drain."""
        try:
            async with AsyncExitStack() as parts:
                turns, doors = await self._start(parts)
                await self._stopping.wait()
                lost = await self._end_watch()
                # Without an engine no turn that still runs can be answered.
                await self._drain(turns, doors, 0.0 if lost else self._settings.drain.turns_seconds)
                if lost is not None:
                    raise lost
        except EngineLost as error:
            _log.error("server.engine_lost", extra={"why": str(error)})
            return ExitCode.ENGINE_LOST
        except (EngineError, IntakeError, PolicyError, OSError) as error:
            _log.error("server.failed", extra={"error": type(error).__name__, "why": str(error)})
            return ExitCode.FAILED
        _log.info("server.stopped")
        return ExitCode.DRAINED

    def stop(self) -> None:
        """Drain and end `run`. Asked a second time, cut what still runs."""
        if self._stopping.is_set():
            self._hurrying.set()
        self._stopping.set()

    async def _start(self, parts: AsyncExitStack) -> tuple[TurnParts, Doors]:
        settings, clock, registry = self._settings, self._clock, process_registry()
        self._watch_signals()
        spool = SpoolWatch(settings.intake.table.spool_folder, clock)
        await spool.look()
        policies, judge = await open_policy(settings.policy, parts)
        turns = await open_turns(settings, judge, registry, clock, parts)
        self._mark("models", language=turns.served.name)
        doors = await open_doors(settings, turns, policies, self._readiness, registry, clock, parts)
        self.rpc_port, self.http_port = doors.rpc.port, doors.http.port
        _log.info("server.listening", extra=self._addresses())
        await judge.warm()
        policy, kind = policies.active(), settings.policy.judge.value
        self._mark("policy", judge=kind, revision=policy.revision, since=policy.since.isoformat())
        parts.push_async_callback(turns.engine.close)
        if await self._started_in_time(turns.engine):
            self._readiness.mark("engine", turns.engine.is_healthy)
            engine = settings.engine.kind.value
            _log.info("server.ready", extra={"part": "engine", "kind": engine, "model": turns.served.name})
            await self._serve(turns, spool, doors, parts)
        return turns, doors

    async def _serve(self, turns: TurnParts, spool: SpoolWatch, doors: Doors, parts: AsyncExitStack) -> None:
        """Say that turns are taken, and follow what may go down."""
        _leave_out_of_collections()
        self._readiness.mark("spool", spool.is_up)
        for run in (spool.run, turns.admission.run, turns.admission.pace.run):
            parts.push_async_callback(_ended, asyncio.create_task(run()))
        await doors.rpc.set_serving(True)

        async def take_news(news: EngineNews, why: str) -> None:
            is_up = news is EngineNews.RESTARTED
            _log.log(logging.INFO if is_up else logging.ERROR, f"engine.{news.value}", extra={"why": why})
            if is_up:
                _leave_out_of_collections()
            await doors.rpc.set_serving(is_up)

        self._watching = asyncio.create_task(turns.engine.watch(take_news))
        self._watching.add_done_callback(lambda _: self._stopping.set())
        parts.push_async_callback(_ended, self._watching)
        _log.info("server.serving", extra=self._addresses())

    async def _started_in_time(self, engine: SupervisedEngine) -> bool:
        """Start the engine, which takes long; give up when the gateway is stopped meanwhile."""
        starting, stopping = asyncio.create_task(engine.start()), asyncio.create_task(self._stopping.wait())
        await asyncio.wait((starting, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if starting.done():
            await starting
            return True
        await _ended(starting)
        return False

    async def _drain(self, turns: TurnParts, doors: Doors, turns_seconds: float) -> None:
        """Say not ready, wait for load balancers, take nothing new, let running turns end within a time."""
        admission = turns.admission
        _log.info("server.draining", extra={"turns": admission.held})
        self._readiness.drain()
        await doors.rpc.set_serving(False)
        hurrying = asyncio.create_task(self._hurrying.wait())
        await asyncio.wait((hurrying,), timeout=self._settings.drain.grace_seconds)
        admission.drain()
        idle = asyncio.create_task(admission.wait_idle())
        await asyncio.wait((idle, hurrying), timeout=turns_seconds, return_when=asyncio.FIRST_COMPLETED)
        if not idle.done():
            _log.warning("server.drain_cut", extra={"turns": admission.held})
        for task in (idle, hurrying):
            await _ended(task)

    async def _end_watch(self) -> BaseException | None:
        """Restart no engine any more; return the error that ended the watch, if one did."""
        if self._watching is None:
            return None
        await _ended(self._watching)
        return None if self._watching.cancelled() else self._watching.exception()

    def _addresses(self) -> dict[str, str]:
        rpc, http = self._settings.rpc, self._settings.http
        return {"grpc": with_port(rpc.host, self.rpc_port), "http": with_port(http.host, self.http_port)}

    def _mark(self, part: str, **facts: object) -> None:
        self._readiness.mark(part)
        _log.info("server.ready", extra={"part": part, **facts})

    def _watch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)


def _raise_file_limit() -> None:
    """Raise the soft limit on open files to the hard one: many systems begin at 1,024, fewer than our connections."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _leave_out_of_collections() -> None:
    """Let Python's collector leave alone what start-up made, and look at the rest seldom: it stops the event loop.

    After a restart of the engine the objects of the old one are let go of first.

    Source: vllm 0.32, utils/gc_utils.py, freeze_gc_heap. With vLLM imported there are 600,000 objects.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTIONS)


async def _ended(task: "asyncio.Task[Any]") -> None:
    task.cancel()
    await asyncio.wait((task,))
