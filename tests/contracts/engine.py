"""What every engine must do."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing

import pytest

from headworks.server.engine.engine import Engine, EngineRequest, FinishReason, Piece, PromptChunk, Sampling
from headworks.server.engine.errors import EngineBroken, EngineUnavailable


class PromptBroke(Exception):
    """Raised by a prompt on purpose."""


async def chunks(token_ids: Sequence[int], sizes: Sequence[int]) -> AsyncIterator[PromptChunk]:
    """Cut a prompt into chunks of these sizes; what is left is the last one."""
    at = 0
    for size in sizes:
        yield PromptChunk(tuple(token_ids[at : at + size]), is_last=False)
        at += size
    yield PromptChunk(tuple(token_ids[at:]), is_last=True)


async def open_ended(token_ids: Sequence[int]) -> AsyncGenerator[PromptChunk, None]:
    """Give one chunk, then nothing, as a caller who still speaks."""
    yield PromptChunk(tuple(token_ids), is_last=False)
    await asyncio.Event().wait()


async def running(engine: Engine, count: int) -> None:
    """Return once so many turns hold a place."""
    while engine.load().running != count:  # noqa: ASYNC110  # engines tell no one when they begin
        await asyncio.sleep(0.01)


async def answer(
    engine: Engine, turn_id: str, prompt: AsyncIterator[PromptChunk], ceiling: int = 8
) -> tuple[list[int], FinishReason | None]:
    tokens: list[int] = []
    finish = None
    async with aclosing(engine.answer(EngineRequest(turn_id, Sampling(ceiling)), prompt)) as pieces:
        async for piece in pieces:
            assert finish is None, "a piece after the last one"
            tokens += piece.token_ids
            finish = piece.finish
    return tokens, finish


async def check_engine(make: Callable[[], Awaitable[Engine]], token_ids: Sequence[int]) -> None:
    """Run the contract on one engine.

    Args:
        make: Starts an engine whose answers to `token_ids` are longer than 8 tokens.
        token_ids: A prompt of at least 4 tokens.
    """
    engine = await make()
    try:
        await _ceiling_is_kept(engine, token_ids)
        await _length_is_kept(engine, token_ids)
        await _answer_does_not_depend_on_cuts(engine, token_ids)
        await _closing_frees_the_place(engine, token_ids)
        await _cancel_while_fed_frees_the_place(engine, token_ids)
        await _prompt_errors_come_out_unchanged(engine, token_ids)
        await engine.heartbeat()
        assert engine.is_healthy()
        await _closing_the_engine_ends_its_answers(engine, token_ids)
        assert not engine.is_healthy()
        with pytest.raises(EngineUnavailable):
            await engine.heartbeat()
    finally:
        await engine.close()


async def _ceiling_is_kept(engine: Engine, token_ids: Sequence[int]) -> None:
    tokens, finish = await answer(engine, "ceiling", chunks(token_ids, ()))
    assert (len(tokens), finish) == (8, FinishReason.LENGTH)


async def _length_is_kept(engine: Engine, token_ids: Sequence[int]) -> None:
    """Any ceiling may be asked for; what a prompt leaves of the length is the end of its answer."""
    length = engine.max_model_tokens - 2
    fitting = list(token_ids) * (length // len(token_ids) + 1)
    tokens, finish = await answer(engine, "length", chunks(fitting[-length:], (1, 2)), ceiling=10**6)
    assert (len(tokens), finish) == (2, FinishReason.LENGTH)


async def _answer_does_not_depend_on_cuts(engine: Engine, token_ids: Sequence[int]) -> None:
    whole, _ = await answer(engine, "whole", chunks(token_ids, ()))
    cut, _ = await answer(engine, "cut", chunks(token_ids, (1, 2)))
    assert cut == whole


async def _closing_frees_the_place(engine: Engine, token_ids: Sequence[int]) -> None:
    pieces = engine.answer(EngineRequest("closed", Sampling(1000)), chunks(token_ids, ()))
    assert isinstance(await anext(pieces), Piece)
    assert engine.load().running == 1
    await pieces.aclose()
    assert engine.load().running == 0


async def _cancel_while_fed_frees_the_place(engine: Engine, token_ids: Sequence[int]) -> None:
    """The prompt is free too: Python raises RuntimeError when a generator is closed that something still iterates."""
    prompt = open_ended(token_ids)
    feeding = asyncio.create_task(answer(engine, "fed", prompt))
    await running(engine, 1)
    feeding.cancel()
    await asyncio.wait((feeding,))
    assert engine.load().running == 0
    await prompt.aclose()


async def _closing_the_engine_ends_its_answers(engine: Engine, token_ids: Sequence[int]) -> None:
    """An answer that ended early without an error would pass for a whole one."""
    told = engine.answer(EngineRequest("told", Sampling(1000)), chunks(token_ids, ()))
    await anext(told)
    is_closed = asyncio.Event()

    async def late() -> AsyncGenerator[PromptChunk, None]:
        yield PromptChunk(tuple(token_ids), is_last=False)
        await is_closed.wait()
        yield PromptChunk(tuple(token_ids), is_last=True)

    prompt = late()
    untold = asyncio.create_task(answer(engine, "untold", prompt))
    await running(engine, 2)
    await engine.close()
    is_closed.set()
    with pytest.raises(EngineUnavailable):
        await untold
    await prompt.aclose()
    with pytest.raises(EngineBroken):
        await _read(told)
    assert engine.load().running == 0


async def _prompt_errors_come_out_unchanged(engine: Engine, token_ids: Sequence[int]) -> None:
    async def broken() -> AsyncIterator[PromptChunk]:
        yield PromptChunk(tuple(token_ids), is_last=False)
        raise PromptBroke

    with pytest.raises(PromptBroke):
        await answer(engine, "broken", broken())
    assert engine.load().running == 0


async def _read(pieces: AsyncIterator[Piece]) -> None:
    async for _ in pieces:
        pass
