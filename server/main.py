"""Builds the real objects and runs them until told to stop."""

import asyncio
import functools
import gc
import logging
import signal
from contextlib import AsyncExitStack

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
from headworks.server.engine.errors import EngineError
from headworks.server.engine.settings import EngineKind
from headworks.server.engine.simulated import SimulatedEngine
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
from headworks.server.settings import JudgeKind, Settings
from headworks.server.telemetry.log import log_events
from headworks.server.telemetry.metrics import LoadCollector, process_registry
from headworks.server.telemetry.telemetry import Telemetry
from headworks.server.turn.runner import TurnRunner

_log = logging.getLogger("headworks.server")
_SIMULATED_ANSWER = " This answer was made by a timing model; it says nothing, over and over."


def serve(settings: Settings) -> int:
    """Serve until SIGTERM or SIGINT, then drain. Blocks.

    Returns:
        The process's exit code: 0 after a drain, 1 when a part could not start.
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
        self._readiness = Readiness(("models", "policy", "engine"))

    async def run(self) -> int:
        """Start, serve and drain."""
        try:
            async with AsyncExitStack() as parts:
                await self._start(parts)
                await self._stopping.wait()
                await self._drain()
        except (EngineError, IntakeError, PolicyError, OSError) as error:
            _log.error("server.failed", extra={"error": type(error).__name__, "why": str(error)})
            return 1
        _log.info("server.stopped")
        return 0

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
        engine = _engine(settings, language, intake.encode(_SIMULATED_ANSWER), clock)
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
        parts.push_async_callback(_ended, asyncio.create_task(self._watch_engine(engine)))
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
        graph = Graph(settings.graphql, StoredTables(intake.tables, intake.table_pool), access_log)
        turns_of = functools.partial(RunnerTurns, runner)
        http_parts = HttpParts(graph, turns_of, _Fixed(bundle), self._readiness, registry, identifier, access_log)
        http = HttpServer(settings.http, build_app(settings.http, http_parts))
        await http.start()
        parts.push_async_callback(http.stop, settings.drain.grace_seconds)
        self._rpc = RpcServer(settings.rpc, runner, identifier)
        await self._rpc.start()
        parts.push_async_callback(self._rpc.stop, 0)
        self.rpc_port, self.http_port = self._rpc.port, http.port
        _log.info("server.listening", extra={"grpc": self.rpc_port, "http": self.http_port})

    async def _drain(self) -> None:
        """Say not ready, wait for load balancers, take nothing new, let running turns end."""
        drain = self._settings.drain
        _log.info("server.draining", extra={"turns": self._permits.held})
        self._readiness.drain()
        await self._rpc.set_serving(False)
        await asyncio.sleep(drain.grace_seconds)
        self._permits.drain()
        try:
            async with asyncio.timeout(drain.turns_seconds):
                await self._permits.wait_idle()
        except TimeoutError:
            _log.warning("server.drain_cut", extra={"turns": self._permits.held})

    async def _watch_engine(self, engine: Engine) -> None:
        """Turn health off when the engine dies."""
        while engine.is_healthy():  # noqa: ASYNC110  # engines are looked at, they do not call
            await asyncio.sleep(self._settings.engine.health_seconds)
        _log.error("engine.died")
        await self._rpc.set_serving(False)

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

    Source: vllm 0.32, utils/gc_utils.py, freeze_gc_heap. With vLLM imported there are 600,000 objects.
    """
    gc.collect()
    gc.freeze()


async def _ended(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.wait((task,))
