"""Text in, spans out, as lines and sentences end."""

import asyncio
import codecs
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from dataclasses import dataclass

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.finding import MAX_NOTED_CHARACTERS, MAX_NOTED_SPANS, Finding, Noted
from headworks.intake.span import Modality, Span, TextOrigin

_RUN = re.compile(r"[.!?。！？]++\s*+|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*+")  # noqa: RUF001 - full-width marks count
"""Marks that may end a sentence, or the end of a line, with the white space after them.

A run of marks matches even where nothing follows it and no sentence ends, so that the search goes on after the run
and looks at each character once. Possessive quantifiers keep it from going back.
"""


@dataclass(frozen=True, slots=True)
class TextSettings:
    """Limits on one text part."""

    max_bytes: int = 1024 * 1024
    """More than the longest prompt takes: the limit on tokens is met first."""
    max_held_characters: int = 2000
    """A line that does not end is given out in pieces of this length."""


class TextPreprocessor:
    """Reads UTF-8 and yields a `Noted` whenever a line or sentence has ended.

    Its spans join to the text as it came. Where they are cut depends on the text alone. Between two findings the
    event loop goes round, and one finding holds little, so that no chunk keeps other calls waiting.
    """

    def __init__(self, part: int, settings: TextSettings) -> None:
        self._part = part
        self._settings = settings
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._bytes = 0
        self._held = ""
        self._searched = 0
        """Characters of `_held` before which no sentence or line ends."""
        self._given = 0

    async def process(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[Finding, None]:
        """See `Preprocessor`."""
        async for chunk in chunks:
            for spans in self._grouped(self._pieces(self._decode(chunk, final=False))):
                yield Noted(self._part, spans)
                await asyncio.sleep(0)
        rest = self._decode(b"", final=True)
        if not self._bytes:
            raise BadMedia(f"text {self._part}: no bytes came")
        for spans in self._grouped(self._pieces(rest, is_last=True)):
            yield Noted(self._part, spans)
            await asyncio.sleep(0)

    def _decode(self, chunk: bytes, *, final: bool) -> str:
        if self._bytes + len(chunk) > self._settings.max_bytes:
            raise TooLarge("intake.text.max_bytes", self._settings.max_bytes, self._bytes + len(chunk))
        pending = len(self._decoder.getstate()[0])
        try:
            text = self._decoder.decode(chunk, final)
        except UnicodeDecodeError as error:
            place = self._bytes - pending + error.start
            raise BadMedia(f"text {self._part}: not UTF-8 at byte {place}") from error
        if (place := chunk.find(b"\0")) >= 0:
            raise BadMedia(f"text {self._part}: a NUL byte at byte {self._bytes + place}")
        self._bytes += len(chunk)
        return text

    def _pieces(self, text: str, *, is_last: bool = False) -> Iterator[str]:
        """Yield the pieces that are certain with `text`; hold the rest back, unless there is no more to come."""
        held = self._held + text
        start = 0
        while (stop := self._stop(held, start)) is not None:
            yield held[start:stop]
            start = self._searched = stop
        if is_last and start < len(held):
            yield held[start:]
            start = self._searched = len(held)
        self._held = held[start:]
        self._searched -= start

    def _stop(self, held: str, start: int) -> int | None:
        """Return where the piece from `start` ends, or None: an end is certain only when something else follows it."""
        longest = start + self._settings.max_held_characters
        seen = min(len(held), longest + 1)
        open_run = None
        for run in _RUN.finditer(held, self._searched, seen):
            if run.end() == seen:
                open_run = run.start()
            elif held[run.end() - 1].isspace():
                return run.end()
        if len(held) > longest:
            return longest
        self._searched = seen if open_run is None else open_run
        return None

    def _grouped(self, pieces: Iterable[str]) -> Iterator[tuple[Span, ...]]:
        """Make spans of pieces, as many together as one finding may hold."""
        spans: list[Span] = []
        characters = 0
        for piece in pieces:
            if spans and characters + len(piece) > MAX_NOTED_CHARACTERS:
                yield tuple(spans)
                spans, characters = [], 0
            spans.append(self._span(piece))
            characters += len(piece)
            if len(spans) == MAX_NOTED_SPANS:
                yield tuple(spans)
                spans, characters = [], 0
        if spans:
            yield tuple(spans)

    def _span(self, text: str) -> Span:
        start = self._given
        self._given += len(text)
        return Span(Modality.TEXT, self._part, text, TextOrigin(start, self._given))
