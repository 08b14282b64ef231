"""Builds the real objects and runs them until told to stop."""

import asyncio
import functools
import gc
import logging
import signal
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any, NoReturn

import uvloop
from prometheus_client import CollectorRegistry

from headworks.graphql.execution import Graph
from headworks.intake.errors import IntakeError
from headworks.intake.intake import Intake
from headworks.intake.models.store import ModelKind, ModelStore, StoredModel
from headworks.intake.prompt.template import ChatTemplate
from headworks.intake.prompt.tokenizer import ModelTokenizer
from headworks.policy.bundles.active import ActivePolicy, read_active_policy
from headworks.policy.errors import PolicyError
from headworks.policy.identity.api_keys import ApiKeyIdentifier
from headworks.policy.judge import Judge
from headworks.policy.opa import OpaJudge
from headworks.policy.regorus import RegorusJudge
from headworks.server.clock import Clock, SystemClock
from headworks.server.engine.engine import Engine
from headworks.server.engine.errors import EngineError, EngineLost
from headworks.server.engine.served import ServedModel
from headworks.server.engine.settings import EngineKind
from headworks.server.engine.simulated import SimulatedEngine
from headworks.server.engine.supervised import EngineNews, SupervisedEngine
from headworks.server.engine.vllm_local import VllmEngine
from headworks.server.flow.admission import Admission
from headworks.server.flow.meter import Meter
from headworks.server.graph.tables import StoredTables
from headworks.server.graph.turns import RunnerTurns
from headworks.server.http.access_log import AccessLog
from headworks.server.http.app import HttpParts, build_app
from headworks.server.http.server import HttpServer
from headworks.server.readiness import Readiness
from headworks.server.rpc.server import RpcServer
from headworks.server.settings import JudgeKind, Settings, unread_variables
from headworks.server.telemetry.log import log_events
from headworks.server.telemetry.metrics import LoadCollector, process_registry
from headworks.server.telemetry.telemetry import Telemetry
from headworks.server.turn.opening import Opening
from headworks.server.turn.runner import TurnRunner
from headworks.server.visit.address import with_port

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
        self._stopping = asyncio.Event()
        self._hurrying = asyncio.Event()
        """Set by the second signal: the drain ends at once."""
        self._watching: asyncio.Task[NoReturn] | None = None
        """Restarts the engine, once it has started; ends when the engine is lost."""
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
        """Drain and end `run`. Asked a second time, cut what still runs."""
        if self._stopping.is_set():
            self._hurrying.set()
        self._stopping.set()

    async def _start(self, parts: AsyncExitStack) -> None:
        settings = self._settings
        self._watch_signals()
        clock = SystemClock()
        registry = process_registry()
        telemetry = Telemetry(settings.telemetry, registry)
        parts.callback(telemetry.close)
        embedded = settings.policy.regorus
        policies = await asyncio.to_thread(read_active_policy, embedded.folder, embedded.limits, datetime.now(UTC))
        judge = _judge(settings, policies)
        parts.push_async_callback(judge.close)
        store = ModelStore(settings.models.store)
        language = store.find(ModelKind.LANGUAGE, settings.models.language or None)
        served, engine = await asyncio.to_thread(_served, settings, language, clock)
        intake = await Intake.load(settings.intake, store, served.count_tokens)
        parts.callback(intake.close)
        self._mark("models", language=language.name)
        self._admission = Admission(settings.flow, clock)
        meter = Meter(settings.flow.max_tenants, clock)
        opening = Opening(served, judge, settings.policy.trust, self._admission, meter, settings.turn, clock)
        runner = TurnRunner(
            served=served, intake=intake, opening=opening, observer=telemetry, settings=settings.turn, clock=clock
        )
        registry.register(LoadCollector(self._admission, engine))
        await self._listen(parts, runner, intake, policies, registry, clock)
        await judge.warm()
        policy = policies.active()
        self._mark(
            "policy", judge=settings.policy.judge.value, revision=policy.revision, since=policy.since.isoformat()
        )
        parts.push_async_callback(engine.close)
        if not await self._started_in_time(engine):
            return
        self._readiness.mark("engine", engine.is_healthy)
        _log.info("server.ready", extra={"part": "engine", "kind": settings.engine.kind.value, "model": served.name})
        _leave_out_of_collections()
        await self._rpc.set_serving(True)
        self._watching = asyncio.create_task(engine.watch(self._take_news))
        self._watching.add_done_callback(lambda _: self._stopping.set())
        parts.push_async_callback(_ended, self._watching)
        _log.info("server.serving", extra=self._addresses())

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
        policies: ActivePolicy,
        registry: CollectorRegistry,
        clock: Clock,
    ) -> None:
        """Open both ports; health and readiness say no until the rest is up."""
        settings = self._settings
        identifier = ApiKeyIdentifier(settings.policy.credentials)
        access_log = AccessLog()
        graph = Graph(settings.graphql, StoredTables(intake.tables, intake.table_pool), access_log)
        turns_of = functools.partial(RunnerTurns, runner)
        http_parts = HttpParts(graph, turns_of, policies, self._readiness, registry, identifier, access_log, clock)
        http = HttpServer(settings.http, build_app(settings.http, http_parts))
        await http.start()
        parts.push_async_callback(http.stop, settings.drain.grace_seconds)
        self._rpc = RpcServer(settings.rpc, runner, identifier)
        await self._rpc.start()
        parts.push_async_callback(self._rpc.stop, 0)
        self.rpc_port, self.http_port = self._rpc.port, http.port
        _log.info("server.listening", extra=self._addresses())

    async def _drain(self, turns_seconds: float) -> None:
        """Say not ready, wait for load balancers, take nothing new, let running turns end within a time."""
        drain = self._settings.drain
        _log.info("server.draining", extra={"turns": self._admission.held})
        self._readiness.drain()
        await self._rpc.set_serving(False)
        hurrying = asyncio.create_task(self._hurrying.wait())
        await asyncio.wait((hurrying,), timeout=drain.grace_seconds)
        self._admission.drain()
        idle = asyncio.create_task(self._admission.wait_idle())
        await asyncio.wait((idle, hurrying), timeout=turns_seconds, return_when=asyncio.FIRST_COMPLETED)
        if not idle.done():
            _log.warning("server.drain_cut", extra={"turns": self._admission.held})
        for task in (idle, hurrying):
            await _ended(task)

    async def _take_news(self, news: EngineNews, why: str) -> None:
        """Let health follow the engine."""
        is_up = news is EngineNews.RESTARTED
        _log.log(logging.INFO if is_up else logging.ERROR, f"engine.{news.value}", extra={"why": why})
        await self._rpc.set_serving(is_up)

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


def _judge(settings: Settings, policies: ActivePolicy) -> Judge:
    if settings.policy.judge is JudgeKind.OPA:
        return OpaJudge(settings.policy.opa)
    return RegorusJudge(settings.policy.regorus, policies)


def _served(settings: Settings, language: StoredModel, clock: Clock) -> tuple[ServedModel, SupervisedEngine]:
    """Read the language model's tokenizer and template; its engine is started later."""
    kind = settings.engine.kind
    tokenizer = ModelTokenizer.load(language.path)
    template = ChatTemplate.load(language.path)
    for has_instructions in (False, True):
        template.frame(tokenizer, has_instructions)

    def make() -> Engine:
        if kind is EngineKind.SIMULATED:
            return SimulatedEngine(tokenizer.encode_plain(_SIMULATED_ANSWER), settings.engine.simulated, clock)
        return VllmEngine(language.path, language.name, settings.engine.vllm)

    engine = SupervisedEngine(make, settings.engine, clock)
    setting = f"engine.{kind.value}.max_model_tokens"
    return ServedModel(language.name, engine, tokenizer, template, setting, settings.intake.prompt), engine


def _leave_out_of_collections() -> None:
    """Let Python's collector leave alone what start-up made: it stays, and a full pass over it stops the event loop.

    Source: vllm 0.32, utils/gc_utils.py, freeze_gc_heap. With vLLM imported there are 600,000 objects.
    """
    gc.collect()
    gc.freeze()


async def _ended(task: "asyncio.Task[Any]") -> None:
    task.cancel()
    await asyncio.wait((task,))
