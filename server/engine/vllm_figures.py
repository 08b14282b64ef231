"""vLLM's own figures of its load, gathered as its core reports them."""

from typing import TYPE_CHECKING

from headworks.server.engine.engine import EngineLoad

if TYPE_CHECKING:
    from vllm.config import CacheConfig, VllmConfig
    from vllm.v1.metrics.loggers import PerEngineStatLoggerFactory
    from vllm.v1.metrics.stats import IterationStats, SchedulerStats


class VllmFigures:
    """Adds up what one engine reports after each step, from its start on.

    vLLM's events of stored and removed blocks are not read: they leave the core over a socket of their own, one
    message a step, and tell which block holds what. That is of use to whoever chooses between engines; how full one
    engine is, its steps report already.
    """

    def __init__(self) -> None:
        self._cache: CacheConfig | None = None
        self._last: SchedulerStats | None = None
        self._preemptions = 0
        self._looked_up_tokens = self._reused_tokens = 0

    def logger(self) -> "PerEngineStatLoggerFactory":
        """Make the class that vLLM tells its figures to; it imports vLLM."""
        from vllm.v1.metrics.loggers import StatLoggerBase

        figures = self

        class FigureReader(StatLoggerBase):
            """Hands on what vLLM reports."""

            def __init__(self, vllm_config: "VllmConfig", engine_index: int = 0) -> None:
                figures.started(vllm_config.cache_config)

            def record(
                self,
                scheduler_stats: "SchedulerStats | None",
                iteration_stats: "IterationStats | None",
                *_: object,
                **__: object,
            ) -> None:
                figures.record(scheduler_stats, iteration_stats)

            def log_engine_initialized(self) -> None:
                """Say nothing."""

        return FigureReader

    def started(self, cache: "CacheConfig") -> None:
        """Take the cache's configuration; vLLM's core writes its size there once it has measured the memory."""
        self._cache = cache

    def record(self, step: "SchedulerStats | None", outputs: "IterationStats | None") -> None:
        """Take the figures of one step; each of the two may be missing.

        Source: vllm 0.32, v1/metrics/stats.py. Preemptions and lookups are those of the step, the rest is as it stands.
        """
        if step is not None:
            self._last = step
            self._looked_up_tokens += step.prefix_cache_stats.queries
            self._reused_tokens += step.prefix_cache_stats.hits
        if outputs is not None:
            self._preemptions += outputs.num_preempted_reqs

    def load(self, running: int) -> EngineLoad:
        """Return the load, with so many turns in the engine. An idle engine reports no step, so its last one is old."""
        last = self._last if running else None
        return EngineLoad(
            running=running,
            waiting=last.num_waiting_reqs if last else 0,
            cache_used=last.kv_cache_usage if last else 0.0,
            cache_tokens=_tokens_in(self._cache),
            preemptions=self._preemptions,
            deferred=last.num_skipped_waiting_reqs if last else 0,
            block_tokens=self._cache.block_size if self._cache else 0,
            looked_up_tokens=self._looked_up_tokens,
            reused_tokens=self._reused_tokens,
        )


def _tokens_in(cache: "CacheConfig | None") -> int:
    if cache is None:
        return 0
    return cache.kv_cache_size_tokens or (cache.num_gpu_blocks or 0) * cache.block_size
