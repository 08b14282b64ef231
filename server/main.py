"""Builds the real objects and runs them until told to stop."""

import asyncio
import gc
import logging
import signal
from contextlib import AsyncExitStack
from enum import IntEnum
from functools import partial
from typing import Any, NoReturn

import uvloop
from prometheus_client import CollectorRegistry

from headworks.graphql.execution import Graph
from headworks.intake.errors import IntakeError
from headworks.intake.intake import Intake
from headworks.intake.models.store import ModelKind, ModelStore, StoredModel
from headworks.policy.bundles.bundle import Bundle, build_bundle
from headworks.policy.errors import PolicyError
from headworks.policy.identity.api_keys import ApiKeyIdentifier
from headworks.policy.judge import Judge
from headworks.policy.opa import OpaJudge
from headworks.policy.regorus import RegorusJudge
from headworks.server.clock import SystemClock
from headworks.server.engine.engine import Engine
from headworks.server.engine.errors import EngineError, EngineLost
from headworks.server.engine.settings import EngineKind
from headworks.server.engine.simulated import SimulatedEngine
from headworks.server.engine.supervised import EngineNews, SupervisedEngine
from headworks.server.engine.vllm_local import VllmEngine
from headworks.server.flow.admission import Permits
from headworks.server.flow.meter import Meter
from headworks.server.graph.tables import StoredTables
from headworks.server.graph.turns import RunnerTurns
from headworks.server.http.access_log import AccessLog
from headworks.server.http.app import HttpParts, build_app
from headworks.server.http.server import HttpServer
from headworks.server.readiness import Readiness
from headworks.server.rpc.server import RpcServer
from headworks.server.settings import JudgeKind, Settings, is_loopback
from headworks.server.telemetry.log import log_events
from headworks.server.telemetry.metrics import LoadCollector, process_registry
from headworks.server.telemetry.telemetry import Telemetry
from headworks.server.turn.runner import TurnRunner

_log = logging.getLogger("headworks.server")
_SIMULATED_ANSWER = " This answer was made by a timing model; it says nothing, over and over."


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
    return uvloop.run(Gateway(settings).run())


class Gateway:
    """One process: its parts, started in order and let go of in the reverse one."""

    def __init__(self, settings: Settings) -> None:
        self.rpc_port = 0
        """The bound ports, once listening."""
        self.http_port = 0
        self._settings = settings
        self._stopping = asyncio.Event()
        self._watching: asyncio.Task[NoReturn] | None = None
        """Follows the engine, once it has started; it ends when the engine is lost."""
        self._readiness = Readiness(("models", "policy", "engine"))

    async def run(self) -> int:
        """Start, serve and drain."""
        try:
            async with AsyncExitStack() as parts:
                await self._start(parts)
                await self._stopping.wait()
                lost = await self._end_watch()
                # Without an engine no turn that still runs can be answered.
                await self._drain(0.0 if lost else self._settings.drain.turns_seconds)
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
        """Drain and end `run`."""
        self._stopping.set()

    async def _start(self, parts: AsyncExitStack) -> None:
        settings = self._settings
        self._watch_signals()
        clock = SystemClock()
        registry = process_registry()
        telemetry = Telemetry(settings.telemetry, registry)
        parts.callback(telemetry.close)
        bundle = await asyncio.to_thread(build_bundle, settings.policy.regorus.folder)
        judge = _judge(settings)
        parts.push_async_callback(judge.close)
        store = ModelStore(settings.models.store)
        language = store.find(ModelKind.LANGUAGE, settings.models.language or None)
        intake = await Intake.load(settings.intake, store, language)
        parts.callback(intake.close)
        self._mark("models", language=language.name)
        make_engine = partial(_engine, settings, language, intake.encode(_SIMULATED_ANSWER), clock)
        engine = SupervisedEngine(make_engine, settings.engine, clock)
        self._permits = Permits(settings.flow)
        runner = TurnRunner(
            engine=engine,
            judge=judge,
            intake=intake,
            permits=self._permits,
            meter=Meter(settings.flow.max_tenants, clock),
            observer=telemetry,
            clock=clock,
            settings=settings.turn,
            trust=settings.policy.trust,
        )
        registry.register(LoadCollector(self._permits, engine))
        await self._listen(parts, runner, intake, bundle, registry)
        await judge.warm()
        self._mark("policy", judge=settings.policy.judge.value, revision=bundle.revision)
        parts.push_async_callback(engine.close)
        if not await self._started_in_time(engine):
            return
        self._readiness.mark("engine", engine.is_healthy)
        _log.info("server.ready", extra={"part": "engine", "kind": settings.engine.kind.value, "model": engine.model})
        _leave_out_of_collections()
        await self._rpc.set_serving(True)
        self._watching = asyncio.create_task(engine.watch(self._take_news))
        self._watching.add_done_callback(lambda _: self._stopping.set())
        parts.push_async_callback(_ended, self._watching)
        _log.info("server.serving", extra={"grpc": self.rpc_port, "http": self.http_port})

    async def _started_in_time(self, engine: Engine) -> bool:
        """Start the engine, which takes long; give up when the gateway is stopped meanwhile."""
        starting, stopping = asyncio.create_task(engine.start()), asyncio.create_task(self._stopping.wait())
        await asyncio.wait((starting, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if starting.done():
            await starting
            return True
        await _ended(starting)
        return False

    async def _listen(
        self,
        parts: AsyncExitStack,
        runner: TurnRunner,
        intake: Intake,
        bundle: Bundle,
        registry: CollectorRegistry,
    ) -> None:
        """Open both ports; health and readiness say no until the rest is up."""
        settings = self._settings
        identifier = ApiKeyIdentifier(settings.policy.credentials)
        access_log = AccessLog()
        turns = RunnerTurns(runner, is_encrypted=False, is_loopback=is_loopback(settings.http.host))
        graph = Graph(settings.graphql, StoredTables(intake.tables, intake.table_pool), turns, access_log)
        http_parts = HttpParts(graph, _Fixed(bundle), self._readiness, registry, identifier, access_log)
        http = HttpServer(settings.http, build_app(settings.http, http_parts))
        await http.start()
        parts.push_async_callback(http.stop, settings.drain.grace_seconds)
        self._rpc = RpcServer(settings.rpc, runner, identifier)
        await self._rpc.start()
        parts.push_async_callback(self._rpc.stop, 0)
        self.rpc_port, self.http_port = self._rpc.port, http.port
        _log.info("server.listening", extra={"grpc": self.rpc_port, "http": self.http_port})

    async def _drain(self, turns_seconds: float) -> None:
        """Say not ready, wait for load balancers, take nothing new, let running turns end within a time."""
        drain = self._settings.drain
        _log.info("server.draining", extra={"turns": self._permits.held})
        self._readiness.drain()
        await self._rpc.set_serving(False)
        await asyncio.sleep(drain.grace_seconds)
        self._permits.drain()
        try:
            async with asyncio.timeout(turns_seconds):
                await self._permits.wait_idle()
        except TimeoutError:
            _log.warning("server.drain_cut", extra={"turns": self._permits.held})

    async def _take_news(self, news: EngineNews, why: str) -> None:
        """Let health follow the engine."""
        is_up = news is EngineNews.RESTARTED
        _log.log(logging.INFO if is_up else logging.ERROR, f"engine.{news.value}", extra={"why": why})
        if is_up:
            _leave_out_of_collections()
        await self._rpc.set_serving(is_up)

    async def _end_watch(self) -> BaseException | None:
        """Restart no engine any more; return the error that ended the watch, if one did."""
        if self._watching is None:
            return None
        await _ended(self._watching)
        return None if self._watching.cancelled() else self._watching.exception()

    def _mark(self, part: str, **facts: object) -> None:
        self._readiness.mark(part)
        _log.info("server.ready", extra={"part": part, **facts})

    def _watch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)


class _Fixed:
    """The bundle of the policy that this process started with."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def active(self) -> Bundle:
        return self._bundle


def _judge(settings: Settings) -> Judge:
    if settings.policy.judge is JudgeKind.OPA:
        return OpaJudge(settings.policy.opa)
    return RegorusJudge(settings.policy.regorus)


def _engine(settings: Settings, language: StoredModel, answer: tuple[int, ...], clock: SystemClock) -> Engine:
    if settings.engine.kind is EngineKind.SIMULATED:
        return SimulatedEngine(language.name, answer, settings.engine.simulated, clock)
    return VllmEngine(language.path, language.name, settings.engine.vllm)


def _leave_out_of_collections() -> None:
    """Let Python's collector leave alone what start-up made: it stays, and a full pass over it stops the event loop.

    After a restart of the engine the objects of the old one are let go of first.

    Source: vllm 0.32, utils/gc_utils.py, freeze_gc_heap. With vLLM imported there are 600,000 objects.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


async def _ended(task: "asyncio.Task[Any]") -> None:
    task.cancel()
    await asyncio.wait((task,))
