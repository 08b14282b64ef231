"""vLLM in this process: AsyncLLM, fed through StreamingInput while the input is still arriving."""

import asyncio
import functools
import gc
import multiprocessing
import os
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING

from headworks.server.engine.engine import EngineLoad, EngineRequest, Piece, PromptChunk
from headworks.server.engine.errors import EngineBroken, EngineUnavailable
from headworks.server.engine.lent_prompt import LentPrompt
from headworks.server.engine.processes import Processes
from headworks.server.engine.settings import VllmSettings
from headworks.server.engine.vllm_figures import VllmFigures
from headworks.server.engine.vllm_turn import Answering, TurnAborted, sampling_params, streaming_inputs

if TYPE_CHECKING:
    from vllm.outputs import RequestOutput
    from vllm.v1.engine.async_llm import AsyncLLM

_GIVE_UP_SECONDS = 0.2
"""Between two looks for the core of a start that is given up; vLLM imports for seconds before it starts one."""


class VllmEngine:
    """vLLM's AsyncLLM on one model folder. Its core runs in a process of its own, the model in the core's children."""

    def __init__(self, folder: Path, model: str, settings: VllmSettings) -> None:
        self._folder = folder
        self._model = model
        self._settings = settings
        self._opening: asyncio.Future[AsyncLLM] | None = None
        self._llm: AsyncLLM | None = None
        self._processes = Processes()
        self._running: set[str] = set()
        self._waits: set[asyncio.Timeout] = set()
        """One for each answer that waits for vLLM at this moment. They have no limit; `close` ends them."""
        self._figures = VllmFigures()

    @property
    def max_model_tokens(self) -> int:
        return self._settings.max_model_tokens

    async def start(self) -> None:
        self._opening = asyncio.ensure_future(asyncio.to_thread(self._open))
        try:
            # Shielded: the thread cannot be cancelled, and `close` waits for it.
            self._llm = await asyncio.shield(self._opening)
        except Exception as error:
            raise EngineUnavailable(f"vLLM did not start: {error}") from error

    async def answer(self, request: EngineRequest, prompt: AsyncIterator[PromptChunk]) -> AsyncGenerator[Piece, None]:
        llm = self._ready()
        answering = Answering()
        lent = LentPrompt(prompt)
        final = sampling_params(request.sampling)
        inputs = streaming_inputs(lent, final, answering)
        trace_headers = request.trace_headers if self._settings.traces_endpoint else None
        self._running.add(request.turn_id)
        try:
            generating = llm.generate(inputs, final, request.turn_id, trace_headers=trace_headers)
            async with aclosing(generating) as outputs:
                while (output := await self._next(outputs)) is not None:
                    if (piece := answering.piece(output)) is not None:
                        yield piece
            answering.check_end()
        except Exception as error:
            if error is lent.error:
                raise
            kind = EngineBroken if answering.has_begun else EngineUnavailable
            raise kind(f"vLLM failed the turn ({type(error).__name__})") from error
        finally:
            self._running.discard(request.turn_id)
            await lent.take_back()

    def load(self) -> EngineLoad:
        return self._figures.load(len(self._running))

    def is_healthy(self) -> bool:
        return self._llm is not None and not self._llm.errored

    async def heartbeat(self) -> None:
        llm = self._ready()
        try:
            # A round trip to the core and through it to every worker; AsyncLLM's own `check_health` looks at a flag.
            await llm.collective_rpc("check_health")
        except Exception as error:
            raise EngineUnavailable(f"vLLM gives no heartbeat ({type(error).__name__})") from error

    async def close(self) -> None:
        await self._shut_down()
        # AsyncLLM stands in circles of references that hold 50 MB; several would gather before Python looks.
        gc.collect()
        if left := await asyncio.to_thread(self._processes.end, self._settings.kill_seconds):
            raise EngineUnavailable(f"{left} processes of vLLM do not end")

    async def _shut_down(self) -> None:
        opening, self._opening, self._llm = self._opening, None, None
        if opening is None or await self._has_failed(opening):
            return
        llm = opening.result()
        self._hold_processes()
        self._end_answers()
        await asyncio.to_thread(llm.shutdown, self._settings.close_seconds)
        # AsyncLLM's __del__ shuts down once more, at interpreter exit after its modules are gone.
        llm.shutdown = _nothing  # type: ignore[method-assign]

    async def _next(self, outputs: "AsyncGenerator[RequestOutput, None]") -> "RequestOutput | None":
        """Return vLLM's next output, None after the last one.

        Raises:
            TurnAborted: the engine is closed.
        """
        if self._llm is None:
            raise TurnAborted("the engine is closed")
        try:
            async with asyncio.timeout(None) as wait:
                self._waits.add(wait)
                try:
                    return await anext(outputs, None)
                finally:
                    self._waits.discard(wait)
        except TimeoutError as error:
            if not wait.expired():
                raise
            raise TurnAborted("the engine is closed") from error

    def _end_answers(self) -> None:
        """End the wait of each answer. vLLM lets them wait for ever when its core stops answering or dies early on."""
        now = asyncio.get_running_loop().time()
        for wait in self._waits:
            wait.reschedule(now)

    def _ready(self) -> "AsyncLLM":
        if self._llm is None:
            raise EngineUnavailable("vLLM is not running")
        return self._llm

    def _open(self) -> "AsyncLLM":
        os.environ.update(_process_environment(self._settings))
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        arguments = AsyncEngineArgs(
            model=str(self._folder),
            served_model_name=[self._model],
            dtype=self._settings.data_type,  # type: ignore[arg-type]  # vLLM checks the name itself
            max_model_len=self._settings.max_model_tokens,
            max_num_seqs=self._settings.max_turns,
            gpu_memory_utilization=self._settings.gpu_memory_share,
            enforce_eager=self._settings.is_eager,
            generation_config="vllm",
            kv_cache_metrics=True,
            kv_cache_metrics_sample=self._settings.followed_blocks_share,
            otlp_traces_endpoint=self._settings.traces_endpoint or None,
        )
        llm = AsyncLLM.from_engine_args(arguments, stat_loggers=[self._figures.logger()])
        self._hold_processes()
        return llm

    def _hold_processes(self) -> None:
        for core in _cores():
            if core.pid is not None:
                self._processes.hold(core.pid)

    async def _has_failed(self, opening: "asyncio.Future[AsyncLLM]") -> bool:
        """End a start that still goes on by killing its core; vLLM gives up a start for no other reason."""
        while not opening.done():
            self._hold_processes()
            for core in _cores():
                core.kill()
            await asyncio.wait({opening}, timeout=_GIVE_UP_SECONDS)
        return opening.exception() is not None


def _cores() -> list[BaseProcess]:
    """Return vLLM's core process, or several where a model is spread out; each has its workers for children."""
    return [child for child in multiprocessing.active_children() if child.name.startswith("EngineCore")]


def _nothing(timeout: float | None = None) -> None:
    """Do what is left to do for a shutdown that was done before: nothing."""


@functools.cache
def _temporary_home() -> "tempfile.TemporaryDirectory[str] | None":
    """Return a folder for caches where the user has no home that can be written: one for this process, gone at its end.

    Without one, as for the user ids that OpenShift gives, vLLM makes a folder named "~" where the gateway was started.
    """
    home = os.path.expanduser("~")  # Path raises where there is none
    if home != "~" and os.access(home, os.W_OK):
        return None
    return tempfile.TemporaryDirectory(prefix="headworks-home-")


def _process_environment(settings: VllmSettings) -> dict[str, str]:
    """Return what vLLM reads from the environment and from nowhere else."""
    home = _temporary_home()
    return {
        **({"HOME": home.name} if home else {}),
        "HF_HUB_OFFLINE": "1",
        "VLLM_CONFIGURE_LOGGING": os.environ.get("VLLM_CONFIGURE_LOGGING", "0"),
        "VLLM_CPU_KVCACHE_SPACE": str(settings.cpu_cache_gibibytes),
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
    }
