"""SMG's servicer in front of an engine with our timing model, in the place of vLLM's."""

import asyncio
import gc
import time
from collections.abc import AsyncGenerator
from typing import Any

import grpc
from smg_grpc_proto import vllm_engine_pb2_grpc
from smg_grpc_servicer.vllm.servicer import VllmEngineServicer
from vllm.outputs import CompletionOutput, RequestOutput

from bench.turn import Timing


class TimedEngine:
    """Gives tokens when they are due; those that came due while nobody asked come as one output, as vLLM's do."""

    vllm_config = None
    model_config = None

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self.renderer = self

    def process_for_engine(self, prompt: Any, arrival_time: float) -> Any:
        """Return the prompt as it is: it has its token ids already."""
        return prompt

    async def generate(
        self, prompt: Any, sampling_params: Any, request_id: str, **_: Any
    ) -> AsyncGenerator[RequestOutput, None]:
        """Answer one request, as vLLM's AsyncLLM."""
        timing, given = self._timing, 0
        count = min(timing.tokens, sampling_params.max_tokens)
        due = time.monotonic() + timing.first_token_seconds
        while given < count:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            first, now = given, time.monotonic()
            while given < count and (due <= now or given == first):
                given += 1
                due += timing.gap_seconds
            finish = "length" if given == count else None
            output = CompletionOutput(0, "", list(range(first, given)), None, None, finish)
            yield RequestOutput(
                request_id, None, prompt["prompt_token_ids"], None, [output], finish is not None, num_cached_tokens=0
            )


async def serve_smg(port: int, timing: Timing) -> None:
    """Serve until killed."""
    server = grpc.aio.server()
    vllm_engine_pb2_grpc.add_VllmEngineServicer_to_server(VllmEngineServicer(TimedEngine(timing), time.time()), server)
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    gc.collect()
    gc.freeze()
    await server.wait_for_termination()
