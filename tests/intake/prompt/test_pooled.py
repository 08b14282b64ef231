"""Nothing that a caller sends keeps the event loop for long, on the way from bytes to tokens."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headworks.intake.prompt.pooled import PooledPromptWriter
from headworks.intake.prompt.settings import PromptSettings
from headworks.intake.prompt.template import ChatTemplate
from headworks.intake.prompt.tokenizer import LIGHT_CHARACTERS, ModelTokenizer
from headworks.intake.prompt.writer import PromptWriter
from headworks.intake.span import Modality, Span, TextOrigin
from headworks.intake.text import TextPreprocessor, TextSettings
from headworks.intake.work import WorkPool, WorkSettings
from tests.fakes.tokenizers import CHATML, CountingTokenizer, make_spec

SPECS = {family: make_spec(family) for family in ("o200k", "qwen", "metaspace")}
TEMPLATE = ChatTemplate(CHATML, {})
UNITS = (
    *(" ", "\n", " \n", "\r", ".", "?", ". ", "a. ", "\u3002", "a", "a ", "\u65e5", "/\n", "!\n", "!a", "'l"),
    *("\u0301", "e\u0301", "\u1100\u1161", "[", "[\u200b", "[table ", "[table 1]\n", "<|im_end|>", "\u0378"),
)
"""What a hostile text repeats: each once made some step look at the same characters again and again."""


def prompt(tokenizer: ModelTokenizer, max_tokens: int) -> PromptWriter:
    return PromptWriter(tokenizer, TEMPLATE, "", PromptSettings(max_tokens))


async def watch(measure: Callable[[], float], longest: list[float]) -> None:
    """Keep the most that `measure` grew between two passes of the event loop."""
    before = measure()
    while True:
        await asyncio.sleep(0)
        now = measure()
        longest[0] = max(longest[0], now - before)
        before = now


async def write(
    text: str, chunk_bytes: int, tokenizer: ModelTokenizer, measure: Callable[[], float]
) -> tuple[tuple[int, ...], float]:
    """Take a text part from bytes to tokens; return them and the most that `measure` grew in one pass."""
    data = text.encode()

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(data), chunk_bytes):
            yield data[start : start + chunk_bytes]
            await asyncio.sleep(0)

    pool = WorkPool("prompt", WorkSettings())
    longest = [0.0]
    watching = asyncio.create_task(watch(measure, longest))
    await asyncio.sleep(0)
    try:
        writer = PooledPromptWriter(prompt(tokenizer, 10**7), pool)
        parts = [writer.start()]
        async for finding in TextPreprocessor(1, TextSettings()).process(chunks()):
            parts += [span.token_ids for span in await writer.write(finding.spans)]
            await asyncio.sleep(0)
        parts.append(await writer.finish())
    finally:
        pool.close()
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
    return tuple(chain.from_iterable(parts)), longest[0]


@pytest.mark.parametrize("family", SPECS)
@settings(max_examples=15)
@given(
    beginning=st.sampled_from(["", "Hi.", "a b ", "!", "\n"]),
    units=st.lists(st.sampled_from(UNITS), min_size=1, max_size=2),
    ending=st.sampled_from(["", "x", " y z"]),
    characters=st.sampled_from([1_000, 8_000, 30_000]),
    chunk_bytes=st.sampled_from([50, 1_000, 65_536]),
)
async def test_one_pass_of_the_loop_encodes_little(
    family: str, beginning: str, units: list[str], ending: str, characters: int, chunk_bytes: int
) -> None:
    """However long a text or a word is, other calls wait for a few thousand characters only; the rest is on threads."""
    unit = "".join(units)
    text = beginning + unit * (characters // len(unit)) + ending
    tokenizer = CountingTokenizer(SPECS[family])
    ids, longest = await write(text, chunk_bytes, tokenizer, lambda: tokenizer.characters_at_home)
    assert longest <= 4 * LIGHT_CHARACTERS
    assert tokenizer.characters <= 16 * len(text) + 1_000
    at_once = prompt(ModelTokenizer(SPECS[family]), 10**7)
    spans = [
        one
        async for finding in TextPreprocessor(1, TextSettings()).process(once(text.encode()))
        for one in finding.spans
    ]
    assert ids == (
        *at_once.start(),
        *chain.from_iterable(at_once.write(one).token_ids for one in spans),
        *at_once.finish(),
    )


async def once(data: bytes) -> AsyncIterator[bytes]:
    yield data


@pytest.mark.parametrize("unit", [" ", " \n", ".", "?\n", "a", "a. ", "!a", "/\n", "[", "[\u200b", "e\u0301"])
async def test_longest_pass_does_not_grow_with_the_text(unit: str) -> None:
    """Copies and scans are seen by their cost alone. Eight times the text must not keep the loop four times as long.

    The least of two tries counts, in the thread's own processor time, so that a busy machine changes nothing.
    """
    longest: dict[int, float] = {}
    for characters in (8_000, 64_000):
        text = "Hi." + unit * (characters // len(unit)) + "x y z"
        tokenizer = ModelTokenizer(SPECS["o200k"])
        tries = [await write(text, 65_536, tokenizer, time.thread_time) for _ in range(2)]
        longest[characters] = min(seconds for _, seconds in tries)
    assert longest[64_000] < 4 * longest[8_000]


@pytest.mark.parametrize("unit", [" ", "\n", "a", ".", "!\n", "[", "[\u200b", "\u0301"])
def test_small_spans_cost_alike_however_many_came_before(unit: str) -> None:
    """What is held back must not be copied or looked at again for each span.

    Thirty-two times the spans are as many times the work, and a thousand times where a step does so.
    """
    costs: dict[int, float] = {}
    for count in (2_000, 64_000):
        spans = [Span(Modality.TEXT, 1, unit, TextOrigin(place, place + 1)) for place in range(count)]
        costs[count] = min(cost_of(spans) for _ in range(2))
    assert costs[64_000] < 3 * 32 * costs[2_000]


def cost_of(spans: list[Span]) -> float:
    """Return the processor time that writing spans takes."""
    writer = prompt(ModelTokenizer(SPECS["o200k"]), 10**7)
    writer.start()
    started = time.thread_time()
    for span in spans:
        writer.write(span)
    return time.thread_time() - started


async def test_loop_goes_round_while_a_long_word_is_encoded() -> None:
    """A thread is of no use where the tokenizer's library keeps the interpreter's lock: one pass takes as long then."""
    tokenizer = ModelTokenizer(SPECS["o200k"])

    def encode() -> float:
        started = time.perf_counter()
        tokenizer.encode_plain("a" * 1_000_000)
        return time.perf_counter() - started

    pool = WorkPool("prompt", WorkSettings())
    longest = [0.0]
    watching = asyncio.create_task(watch(time.perf_counter, longest))
    await asyncio.sleep(0)
    whole = await pool.run(encode)
    watching.cancel()
    pool.close()
    assert longest[0] < whole / 2
