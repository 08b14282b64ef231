"""What every preprocessor must do."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace

import pytest

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.finding import Finding, Heard, Read
from headworks.intake.preprocessor import Preprocessor
from headworks.intake.span import AudioOrigin, Origin, Span, TextOrigin
from headworks.intake.work import WorkPool

Make = Callable[[], Preprocessor]


async def check_preprocessor(make: Make, data: bytes, bad: bytes, pool: WorkPool | None = None) -> None:
    """Run the contract on one kind of preprocessor.

    Args:
        make: Makes one for a new part.
        data: A part that it reads to at least one span.
        bad: A part that is not of its kind.
        pool: Where its heavy work runs; None where it has none.
    """
    await _findings_do_not_depend_on_cuts(make, data)
    await _spans_belong_to_the_part_and_are_final(make, data)
    await _spans_come_in_the_order_of_the_part(make, data)
    await _no_chunk_is_asked_for_before_the_one_before_is_taken_in(make, data)
    await _closing_ends_the_work(make, data)
    await _closing_before_the_first_chunk_asks_for_none(make)
    if pool:
        await _work_is_done_on_threads_before_the_next_chunk(make, data, pool)
    await _an_error_of_the_chunks_comes_out_unchanged(make, data)
    await _bad_bytes_are_the_senders_fault(make, bad)


async def findings_of(preprocessor: Preprocessor, chunks: Sequence[bytes]) -> list[Finding]:
    async with aclosing(preprocessor.process(_sent(chunks))) as findings:
        return [finding async for finding in findings]


async def _sent(chunks: Sequence[bytes]) -> AsyncGenerator[bytes, None]:
    for chunk in chunks:
        yield chunk


def _cut(data: bytes, pieces: int) -> list[bytes]:
    """Cut into pieces of uneven size, with an empty one before, between and behind."""
    size = max(1, len(data) // pieces)
    chunks = [b""]
    for start in range(0, len(data), size):
        chunks += [data[start : start + size], b""]
    return chunks


def _what_is_certain(findings: list[Finding]) -> list[object]:
    """Return spans and finals. Partials may differ with the cuts, and an id is new each time."""
    certain: list[object] = [span for finding in findings for span in finding.spans]
    certain += [finding.transcript for finding in findings if isinstance(finding, Heard) and finding.is_final]
    certain += [replace(finding, table_id="") for finding in findings if isinstance(finding, Read)]
    return certain


async def _findings_do_not_depend_on_cuts(make: Make, data: bytes) -> None:
    whole = _what_is_certain(await findings_of(make(), [data]))
    assert whole
    for pieces in (2, 7, min(len(data), 50)):
        assert _what_is_certain(await findings_of(make(), _cut(data, pieces))) == whole


async def _spans_belong_to_the_part_and_are_final(make: Make, data: bytes) -> None:
    findings = await findings_of(make(), [data])
    spans: list[Span] = [span for finding in findings for span in finding.spans]
    assert {span.part for span in spans} == {finding.part for finding in findings}
    assert all(span.is_final and span.text and not span.token_ids for span in spans)
    assert all(span.confidence is None or 0 <= span.confidence <= 1 for span in spans)


async def _spans_come_in_the_order_of_the_part(make: Make, data: bytes) -> None:
    findings = await findings_of(make(), [data])
    places = [place for finding in findings for span in finding.spans if (place := _place(span.origin)) is not None]
    assert places == sorted(places)


def _place(origin: Origin) -> int | None:
    """Return where a span begins, where a part has one direction: pictures and tables have two."""
    match origin:
        case TextOrigin():
            return origin.start_character
        case AudioOrigin():
            return origin.start_milliseconds
        case _:
            return None


async def _no_chunk_is_asked_for_before_the_one_before_is_taken_in(make: Make, data: bytes) -> None:
    asked = 0

    async def counted() -> AsyncIterator[bytes]:
        nonlocal asked
        for chunk in _cut(data, 5):
            asked += 1
            yield chunk

    async with aclosing(make().process(counted())) as findings:
        async for _ in findings:
            before = asked
            for _ in range(20):
                await asyncio.sleep(0)
            assert asked == before, "chunks were read while a finding waited to be taken"


async def _closing_ends_the_work(make: Make, data: bytes) -> None:
    before = asyncio.all_tasks()
    generator = make().process(_endless(data))
    reading = asyncio.create_task(_drained(generator))
    for _ in range(20):
        await asyncio.sleep(0)
    reading.cancel()
    await asyncio.wait([reading])
    await generator.aclose()
    assert asyncio.all_tasks() == before


async def _closing_before_the_first_chunk_asks_for_none(make: Make) -> None:
    asked = 0

    async def counted() -> AsyncGenerator[bytes, None]:
        nonlocal asked
        asked += 1
        yield b""

    generator = make().process(counted())
    await generator.aclose()
    await _drained(generator)
    assert asked == 0


async def _work_is_done_on_threads_before_the_next_chunk(make: Make, data: bytes, pool: WorkPool) -> None:
    passes = 0
    waiting_at_chunks: list[int] = []

    async def count() -> None:
        nonlocal passes
        while True:
            await asyncio.sleep(0)
            passes += 1

    async def chunks() -> AsyncGenerator[bytes, None]:
        nonlocal passes
        for chunk in _cut(data, 5):
            waiting_at_chunks.append(pool.waiting)
            yield chunk
        passes = 0

    counting = asyncio.create_task(count())
    await _drained(make().process(chunks()))
    counting.cancel()
    assert passes, "the event loop stood still while the part was read"
    assert not any(waiting_at_chunks), "a chunk was asked for while a thread had the one before"


async def _endless(data: bytes) -> AsyncGenerator[bytes, None]:
    yield data[: len(data) // 2]
    await asyncio.Event().wait()


async def _drained(generator: AsyncGenerator[Finding, None]) -> None:
    async for _ in generator:
        pass


class _Cut(Exception):
    """Raised by the chunks on purpose."""


async def _an_error_of_the_chunks_comes_out_unchanged(make: Make, data: bytes) -> None:
    async def breaking() -> AsyncGenerator[bytes, None]:
        yield data[: len(data) // 2]
        raise _Cut

    with pytest.raises(_Cut):
        await _drained(make().process(breaking()))


async def _bad_bytes_are_the_senders_fault(make: Make, bad: bytes) -> None:
    for chunks in ([bad], _cut(bad, 3)):
        with pytest.raises((BadMedia, TooLarge)):
            await findings_of(make(), chunks)
