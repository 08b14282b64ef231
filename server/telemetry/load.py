"""Metrics of the moment: what flows, how the engine is loaded, what is out of the ordinary."""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from headworks.server.engine.engine import Engine, EngineLoad
from headworks.server.flow.figures import FlowFigures
from headworks.server.flow.watch import FlowWatch, Signal
from headworks.server.telemetry.labels import largest
from headworks.server.telemetry.settings import TelemetrySettings


class LoadCollector(Collector):
    """Reads the figures of the moment when they are scraped."""

    def __init__(
        self, flow: Callable[[], FlowFigures], engine: Engine, watch: FlowWatch, settings: TelemetrySettings
    ) -> None:
        self._flow = flow
        self._engine = engine
        self._watch = watch
        self._max_tenants = settings.max_tenants_shown

    def collect(self) -> Iterator[Metric]:
        flow = self._flow()
        yield from _turns(flow)
        yield from _pace(flow)
        counters = largest(flow.counters_by_tenant, self._max_tenants)
        yield _gauges("tenant_counter", "Virtual token counters, the largest ones.", "tenant", counters)
        yield from _engine(self._engine.load())
        yield from self._alarms()

    def _alarms(self) -> Iterator[Metric]:
        watch = self._watch
        raised = {signal.value: watch.raised[signal] for signal in Signal}
        standing = {signal.value: int(watch.is_alarmed(signal)) for signal in Signal}
        usual = {signal.value: watch.usual(signal) for signal in Signal}
        yield _counters("alarms", "Alarms that were raised.", "signal", raised)
        yield _gauges("alarm", "1 while a signal is out of its usual range.", "signal", standing)
        yield _gauges("signal_usual", "What 95 % of a signal's values stay below.", "signal", usual)


def _turns(flow: FlowFigures) -> Iterator[Metric]:
    waiting = flow.waiting_by_class
    yield _gauge("turns_running", "Turns that hold a permit.", flow.held)
    yield _gauge("turns_waiting", "Turns in line for a permit.", sum(waiting.values()))
    yield _gauges("class_turns_waiting", "Turns in line for a permit, by class.", "class", waiting)
    yield _gauge("calls_silent", "Calls that have sent no input yet.", flow.silent)
    yield _gauge("turns_limit", "Turns that may hold a permit now.", flow.limit)
    yield _gauge("tokens_limit", "Tokens that running turns may come to; 0: no limit.", flow.token_limit)
    yield _gauge("tokens_outstanding", "Tokens that running turns may come to.", flow.outstanding_tokens)
    yield _gauge("tokens_waiting", "Tokens that the answers of turns in line may come to.", flow.waiting_tokens)
    yield _counters("turns_admitted", "Turns that were given a permit.", "class", flow.admitted_by_class)
    yield _counters("turns_refused", "Turns refused by admission.", "limit", flow.refused_by_reason)
    pressure = {flow.limited_by: 1} if flow.limited_by else {}
    yield _gauges("limited_by", "1 for what made the limit shrink last.", "pressure", pressure)


def _pace(flow: FlowFigures) -> Iterator[Metric]:
    yield _gauge("loop_lag_seconds", "How late the event loop is.", flow.loop_lag_seconds)
    yield _gauge("message_wait_seconds", "Wait of a stream between two messages.", flow.message_wait_seconds)


def _engine(load: EngineLoad) -> Iterator[Metric]:
    yield _gauge("engine_running", "Turns in the engine's batch.", load.running)
    yield _gauge("engine_waiting", "Turns waiting in the engine.", load.waiting)
    yield _gauge("engine_deferred", "Turns in the engine that wait for something else than a place.", load.deferred)
    yield _gauge("engine_cache_used", "Share of the key/value cache.", load.cache_used)
    yield _gauge("engine_cache_tokens", "Tokens that the key/value cache holds; 0: no bound.", load.cache_tokens)
    yield _gauge("engine_block_tokens", "Tokens in one block of the cache.", load.block_tokens)
    yield _counter("engine_preemptions", "Turns that lost their place in the cache.", load.preemptions)
    yield _counter("engine_looked_up_tokens", "Prompt tokens looked up in the cache.", load.looked_up_tokens)
    yield _counter("engine_reused_tokens", "Of these, tokens that were found.", load.reused_tokens)


def _gauge(name: str, help_text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"headworks_{name}", help_text, value)


def _counter(name: str, help_text: str, value: float) -> Metric:
    return CounterMetricFamily(f"headworks_{name}", help_text, value)


def _gauges(name: str, help_text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(f"headworks_{name}", help_text, labels=[label])
    for word, value in values.items():
        family.add_metric([word], value)
    return family


def _counters(name: str, help_text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = CounterMetricFamily(f"headworks_{name}", help_text, labels=[label])
    for word, value in values.items():
        family.add_metric([word], value)
    return family
