"""vLLM's own metrics, passed through to /metrics."""

from collections.abc import Iterator

from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

_PREFIX = "vllm:"


class VllmCollector(Collector):
    """Reads what the embedded vLLM keeps in the process's default registry, under vLLM's own names.

    vLLM takes the figures of the engine before it out of that registry whenever it starts one, so that each name is
    there once; after a restart all of them begin at 0. Their labels are the model's name and the engine's number.

    Source: vllm 0.32, v1/metrics/prometheus.py, unregister_vllm_metrics.
    """

    def __init__(self, source: CollectorRegistry = REGISTRY) -> None:
        self._source = source

    def describe(self) -> Iterator[Metric]:
        """Name nothing beforehand; what there is depends on the engine, which starts later."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        return (metric for metric in self._source.collect() if metric.name.startswith(_PREFIX))
