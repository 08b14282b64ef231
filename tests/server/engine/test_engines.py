"""The engine contract, on each adapter."""

from collections.abc import Callable, Sequence

import pytest

from headworks.intake.models.store import ModelKind, ModelStore
from headworks.intake.prompt.tokenizer import ModelTokenizer
from headworks.server.clock import SystemClock
from headworks.server.engine.engine import Engine, EngineRequest, FinishReason, Sampling
from headworks.server.engine.errors import EngineBroken, EngineUnavailable
from headworks.server.engine.settings import SimulatedSettings, VllmSettings
from headworks.server.engine.simulated import SimulatedEngine
from headworks.server.engine.vllm_local import VllmEngine
from headworks.server.telemetry.vllm import VllmCollector
from tests.contracts.engine import answer, check_engine, chunks
from tests.fakes.engines import FailingEngine, TalkingEngine

PROMPT = "<|im_start|>user\nList the twelve months of the year.<|im_end|>\n<|im_start|>assistant\n"


async def test_simulated_engine_keeps_the_contract() -> None:
    """Load work then tests what the real engine would meet."""

    async def make() -> Engine:
        settings = SimulatedSettings(first_token_seconds=0.0, gap_seconds=0.0, answer_tokens=64)
        return SimulatedEngine((1, 2, 3), settings, SystemClock())

    await check_engine(make, (1, 2, 3, 4, 5))


@pytest.mark.parametrize(
    "fake", [lambda: TalkingEngine(64), lambda: FailingEngine(failures=0, tokens=64)], ids=["talking", "failing"]
)
async def test_fakes_keep_the_contract(fake: Callable[[], Engine]) -> None:
    """So that what passes with a fake passes with vLLM."""

    async def make() -> Engine:
        return fake()

    await check_engine(make, (1, 2, 3, 4, 5))


async def test_a_talking_engine_ends_by_itself_within_its_ceiling() -> None:
    """A turn's reason is the engine's, as the contract has it for the ceiling."""
    tokens, finish = await answer(TalkingEngine(tokens=8), "own end", chunks((1,), ()), ceiling=8)
    assert (len(tokens), finish) == (8, FinishReason.STOP)


@pytest.mark.parametrize(
    ("engine", "error", "told"),
    [
        (FailingEngine(failures=1), EngineUnavailable, 0),
        (FailingEngine(is_after_token=True), EngineBroken, 1),
    ],
    ids=["before", "after"],
)
async def test_a_failing_engine_fails_as_the_port_says(engine: Engine, error: type[Exception], told: int) -> None:
    """EngineUnavailable before the first piece, EngineBroken after it; the place is free either way."""
    pieces = engine.answer(EngineRequest("fails", Sampling(8)), chunks((1, 2, 3), (1,)))
    for _ in range(told):
        assert (await anext(pieces)).finish is None
    with pytest.raises(error):
        await anext(pieces)
    assert engine.load().running == 0


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
        await check_figures(engine, token_ids)
        return engine

    await check_engine(make, token_ids)


async def check_figures(engine: VllmEngine, token_ids: Sequence[int]) -> None:
    """What vLLM reports is what happened: the second of two equal prompts finds the blocks of the first."""
    whole = list(token_ids) * (512 // len(token_ids))
    for turn_id in ("first", "again"):
        await answer(engine, turn_id, chunks(whole, ()))
    load = engine.load()
    assert load.cache_tokens >= 1024
    assert load.cache_tokens % load.block_tokens == 0
    assert load.looked_up_tokens == 2 * len(whole)
    assert load.reused_tokens == len(whole) // load.block_tokens * load.block_tokens
    assert load.preemptions == load.waiting == load.deferred == 0
    shown = {metric.name for metric in VllmCollector().collect()}
    assert {"vllm:kv_cache_usage_perc", "vllm:prefix_cache_hits", "vllm:num_preemptions"} <= shown
