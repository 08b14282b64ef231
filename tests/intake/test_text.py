"""Text from bytes to spans."""

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
    """V4: the sender is told where, in bytes of the whole part."""
    with pytest.raises(BadMedia, match=f"text 1: {sentence}"):
        await read(data_strategy.draw(cut_bytes(data)))


async def test_text_over_its_limit_is_too_large() -> None:
    """B7: told by the bytes so far, before they are kept."""
    with pytest.raises(TooLarge, match=r"intake\.text\.max_bytes allows 10, the input has 11"):
        await read([b"12345", b"678901"], TextSettings(max_bytes=10))


async def test_endless_line_comes_out_in_pieces() -> None:
    """Memory does not grow with a line that never ends."""
    found = flat(await read([b"x" * 50] * 3, TextSettings(max_held_characters=40)))
    assert [len(span.text) for span in found] == [40, 40, 40, 30]


async def test_next_text_after_a_fault_works() -> None:
    """V6: each part has a preprocessor of its own."""
    with pytest.raises(IntakeError):
        await read([b"\xff"])
    assert flat(await read([b"Hi"]))[0].text == "Hi"
