"""A prompt that another task reads comes back to its owner."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from headworks.server.engine.engine import PromptChunk
from headworks.server.engine.lent_prompt import LentPrompt
from tests.contracts.engine import PromptBroke, chunks, open_ended


async def read(prompt: LentPrompt) -> list[int]:
    return [token async for chunk in prompt.chunks() for token in chunk.token_ids]


async def test_taking_back_frees_a_prompt_that_is_waited_for() -> None:
    """vLLM's reader waits for the next chunk when the engine dies; the caller then closes the prompt."""
    source = open_ended((1, 2))
    prompt = LentPrompt(source)
    reader = asyncio.create_task(read(prompt))
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="already running"):
        await source.aclose()
    await prompt.take_back()
    await source.aclose()
    await asyncio.wait((reader,))


async def test_a_prompt_taken_back_is_read_no_further() -> None:
    """A reader that holds a chunk at that moment is not waiting, so cancelling cannot stop it."""
    source = chunks((1, 2, 3), (1, 1))
    prompt = LentPrompt(source)
    reading = prompt.chunks()
    await anext(reading)
    await prompt.take_back()
    assert [chunk async for chunk in reading] == []
    assert (await anext(source)).token_ids == (2,)


async def test_a_whole_prompt_is_read_to_its_last_chunk() -> None:
    """And not beyond: the caller's generator may do something else after it."""
    prompt = LentPrompt(chunks((1, 2, 3), (1,)))
    assert await read(prompt) == [1, 2, 3]
    await prompt.take_back()


async def test_errors_of_the_prompt_are_known_as_its_own() -> None:
    """They belong to the caller's input; any other error is the engine's."""

    async def broken() -> AsyncGenerator[PromptChunk, None]:
        yield PromptChunk((1,), is_last=False)
        raise PromptBroke

    prompt = LentPrompt(broken())
    with pytest.raises(PromptBroke) as raised:
        await read(prompt)
    assert prompt.error is raised.value
    await prompt.take_back()
