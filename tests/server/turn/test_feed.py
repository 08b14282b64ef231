"""The prompt's way from intake to the engine."""

import asyncio

from headworks.server.turn.feed import PromptFeed


async def test_waiting_chunks_come_as_one() -> None:
    """Each chunk costs the engine a step; those that wait together need only one."""
    feed = PromptFeed()
    feed.put((1, 2))
    feed.put(())
    feed.put((3,))
    chunks = feed.chunks()
    first = await anext(chunks)
    assert (first.token_ids, first.is_last) == ((1, 2, 3), False)
    waiting = asyncio.create_task(anext(chunks))
    await asyncio.sleep(0)
    assert not waiting.done()
    feed.put((4,), is_last=True)
    last = await waiting
    assert (last.token_ids, last.is_last) == ((4,), True)
    assert [chunk async for chunk in chunks] == []


async def test_prompt_can_be_read_again_from_its_beginning() -> None:
    """An engine that failed before its first token is fed the same prompt once more (litellm#6957)."""
    feed = PromptFeed()
    feed.put((1,))
    feed.put((2,), is_last=True)
    for _ in range(2):
        assert [token async for chunk in feed.chunks() for token in chunk.token_ids] == [1, 2]
    assert feed.tokens == 2
