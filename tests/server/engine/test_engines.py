"""The engine contract, on each adapter."""

import pytest

from headworks.intake.models.store import ModelKind, ModelStore
from headworks.intake.tokenizer import ModelTokenizer
from headworks.server.clock import SystemClock
from headworks.server.engine.engine import Engine
from headworks.server.engine.simulated import SimulatedEngine, SimulatedSettings
from headworks.server.engine.vllm_local import VllmEngine, VllmSettings
from tests.contracts.engine import check_engine

PROMPT = "<|im_start|>user\nList the twelve months of the year.<|im_end|>\n<|im_start|>assistant\n"


async def test_simulated_engine_keeps_the_contract() -> None:
    """Load work then tests what the real engine would meet."""

    async def make() -> Engine:
        settings = SimulatedSettings(first_token_seconds=0.0, gap_seconds=0.0, answer_tokens=64)
        return SimulatedEngine("simulated", (1, 2, 3), settings, SystemClock())

    await check_engine(make, (1, 2, 3, 4, 5))


@pytest.mark.models
@pytest.mark.engine
@pytest.mark.filterwarnings("default")
async def test_vllm_engine_keeps_the_contract(store: ModelStore) -> None:
    """The token that vLLM samples after each chunk must not show, nor an abandoned turn run on."""
    language = store.find(ModelKind.LANGUAGE)
    tokenizer = ModelTokenizer.load(language.path)
    pieces = tokenizer.split_trusted(PROMPT)
    token_ids = [
        token for piece in pieces for token in ((piece,) if isinstance(piece, int) else tokenizer.encode_plain(piece))
    ]

    async def make() -> Engine:
        engine = VllmEngine(language.path, language.name, VllmSettings(max_model_tokens=1024))
        await engine.start()
        return engine

    await check_engine(make, token_ids)
