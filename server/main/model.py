"""The served language model: tokenizer and template from the store, and a supervised engine, not started yet."""

import asyncio
from contextlib import AsyncExitStack
from functools import partial

from headworks.intake.models.store import StoredModel
from headworks.intake.prompt.template import ChatTemplate
from headworks.intake.prompt.tokenizer import ModelTokenizer
from headworks.intake.work import WorkPool
from headworks.server.clock import Clock
from headworks.server.engine.engine import Engine
from headworks.server.engine.served import ServedModel
from headworks.server.engine.settings import EngineKind, EngineSettings
from headworks.server.engine.simulated import SimulatedEngine
from headworks.server.engine.supervised import SupervisedEngine
from headworks.server.engine.vllm_local import VllmEngine
from headworks.server.settings import Settings

_SIMULATED_ANSWER = " This answer was made by a timing model; it says nothing, over and over."


async def open_model(
    settings: Settings, language: StoredModel, clock: Clock, parts: AsyncExitStack
) -> tuple[ServedModel, SupervisedEngine]:
    """Read what turns text into the model's tokens; its engine is started later.

    Args:
        parts: Lets go of threads at the end.
    Raises:
        ModelMissing: the tokenizer or the chat template is not there, is damaged, or does not hold a turn's texts.
    """
    tokenizer, template = await asyncio.to_thread(_texts, language)
    answer = tokenizer.encode_plain(_SIMULATED_ANSWER)
    engine = SupervisedEngine(partial(_engine, settings.engine, language, answer, clock), settings.engine, clock)
    pool = WorkPool("prompt", settings.intake.prompt_work)
    parts.callback(pool.close)
    setting = f"engine.{settings.engine.kind.value}.max_model_tokens"
    return ServedModel(language.name, engine, tokenizer, template, setting, settings.intake.prompt, pool), engine


def _texts(language: StoredModel) -> tuple[ModelTokenizer, ChatTemplate]:
    tokenizer = ModelTokenizer.load(language.path)
    template = ChatTemplate.load(language.path)
    for has_instructions in (False, True):
        template.frame(tokenizer, has_instructions)
    return tokenizer, template


def _engine(settings: EngineSettings, language: StoredModel, answer: tuple[int, ...], clock: Clock) -> Engine:
    if settings.kind is EngineKind.SIMULATED:
        return SimulatedEngine(answer, settings.simulated, clock)
    return VllmEngine(language.path, language.name, settings.vllm)
