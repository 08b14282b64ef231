"""Text from bytes to spans."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.intake.errors import BadMedia, IntakeError, TooLarge
from headworks.intake.finding import Noted
from headworks.intake.span import Span, TextOrigin
from headworks.intake.text import TextPreprocessor, TextSettings
from tests.strategies import cut_bytes, texts


async def read(chunks: list[bytes], settings: TextSettings | None = None) -> list[tuple[Span, ...]]:
    async def stream() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    found = [one async for one in TextPreprocessor(1, settings or TextSettings()).process(stream())]
    assert all(isinstance(one, Noted) for one in found)
    return [one.spans for one in found]


def flat(found: list[tuple[Span, ...]]) -> list[Span]:
    return [span for spans in found for span in spans]


async def test_sentence_comes_out_when_the_next_begins() -> None:
    """The engine gets a sentence while the next is still being typed."""
    found = await read([b"How many orders? ", b"In March", b", I mean.\n"])
    assert [[span.text for span in spans] for spans in found] == [["How many orders? "], ["In March, I mean.\n"]]
    assert flat(found)[1].origin == TextOrigin(17, 35)


@given(text=texts.map(lambda text: text.replace("\0", "")).filter(bool), data=st.data())
async def test_spans_join_to_the_text_and_do_not_depend_on_cuts(text: str, data: st.DataObject) -> None:
    """The same bytes are the same spans, and nothing is lost between them."""
    settings = TextSettings(max_held_characters=20)
    whole = flat(await read([text.encode()], settings))
    assert "".join(span.text for span in whole) == text
    assert flat(await read(data.draw(cut_bytes(text.encode())), settings)) == whole
    ends = [origin.end_character for origin in (span.origin for span in whole) if isinstance(origin, TextOrigin)]
    assert ends[-1] == len(text)


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"])
async def test_every_line_end_ends_a_span(end: str) -> None:
    """A text from an old Mac or out of a word processor streams as well as one with line feeds."""
    found = flat(await read([f"one{end}two{end}{end}  three".encode()]))
    assert [span.text for span in found] == [f"one{end}", f"two{end}{end}  ", "three"]


@given(
    ends=st.lists(st.sampled_from([".", "?\n", "\n", " ", "\r\n", "a", "a. ", "\u3002 "]), max_size=60), data=st.data()
)
async def test_marks_and_blanks_are_cut_alike_wherever_they_came_apart(ends: list[str], data: st.DataObject) -> None:
    """A run that is not over is looked at from its beginning when more comes."""
    settings = TextSettings(max_held_characters=7)
    text = "".join(ends) + "x"
    whole = flat(await read([text.encode()], settings))
    assert flat(await read(data.draw(cut_bytes(text.encode())), settings)) == whole
    assert flat(await read([bytes([one]) for one in text.encode()], settings)) == whole
    assert "".join(span.text for span in whole) == text


@pytest.mark.parametrize("unit", ["a\n", "a. ", "x" * 1000 + "\n"])
async def test_one_finding_holds_little(unit: str) -> None:
    """Who reads a finding handles all its spans at once; 64 KiB of short lines came as one of 32,000 spans."""
    found = await read([(unit * (65_536 // len(unit))).encode()])
    assert max(len(spans) for spans in found) <= 128
    assert max(sum(len(span.text) for span in spans) for spans in found) <= 4096
    assert len(found) <= 20 + len(flat(found)) // 100


async def test_loop_goes_round_between_findings() -> None:
    """One large chunk must not keep the other calls waiting until all of it is read."""
    passes: list[int] = []

    async def count() -> None:
        while True:
            await asyncio.sleep(0)
            passes.append(1)

    async def chunks() -> AsyncIterator[bytes]:
        yield b"a\n" * 30_000

    counting = asyncio.create_task(count())
    seen = [len(passes) async for _ in TextPreprocessor(1, TextSettings()).process(chunks())]
    counting.cancel()
    assert len(set(seen)) >= len(seen) - 1


@pytest.mark.parametrize("unit", [".", "?", ".a", "\n", ". ", "a"])
async def test_reading_costs_alike_however_long_a_piece_may_be(unit: str) -> None:
    """A search that goes back costs the square of a piece: 64 KiB of full stops took seconds.

    The processor time of the thread, against its own: eight times the length must not cost three times as much.
    """
    costs: dict[int, float] = {}
    for longest in (500, 4000):
        settings, tries = TextSettings(max_held_characters=longest), []
        for _ in range(3):
            started = time.thread_time()
            await read([(unit * (65_536 // len(unit))).encode()], settings)
            tries.append(time.thread_time() - started)
        costs[longest] = min(tries)
    assert costs[4000] < 3 * costs[500]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "no bytes came"),
        (b"caf\xe9 au lait", "not UTF-8 at byte 3"),
        ("a€".encode()[:-1], "not UTF-8 at byte 1"),
        (b"ok. \x00", "a NUL byte at byte 4"),
        (bytes(range(128, 256)), "not UTF-8 at byte 0"),
    ],
)
@given(data_strategy=st.data())
async def test_bad_text_names_byte_wherever_it_was_cut(
    data: bytes, sentence: str, data_strategy: st.DataObject
) -> None:
    """The sender is told where, in bytes of the whole part (vllm PR#55451)."""
    with pytest.raises(BadMedia, match=f"text 1: {sentence}"):
        await read(data_strategy.draw(cut_bytes(data)))


async def test_text_over_its_limit_is_too_large() -> None:
    """Told by the bytes so far, before they are kept (TensorRT-LLM PR#13519)."""
    with pytest.raises(TooLarge, match=r"intake\.text\.max_bytes allows 10, the input has 11"):
        await read([b"12345", b"678901"], TextSettings(max_bytes=10))


async def test_endless_line_comes_out_in_pieces() -> None:
    """Memory does not grow with a line that never ends."""
    found = flat(await read([b"x" * 50] * 3, TextSettings(max_held_characters=40)))
    assert [len(span.text) for span in found] == [40, 40, 40, 30]


async def test_next_text_after_a_fault_works() -> None:
    """Each part has a preprocessor of its own (vllm#51467)."""
    with pytest.raises(IntakeError):
        await read([b"\xff"])
    assert flat(await read([b"Hi"]))[0].text == "Hi"
