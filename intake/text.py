"""Text in, spans out, as lines and sentences end."""

import codecs
import re
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.finding import Finding, Noted
from headworks.intake.span import Modality, Span, TextOrigin

_END = re.compile(r"[.!?。！？]+[ \t]+|\n+")  # noqa: RUF001 - full-width marks end sentences too


@dataclass(frozen=True, slots=True)
class TextSettings:
    """Limits on one text part."""

    max_bytes: int = 1024 * 1024
    """Well above the longest prompt; the token limit is the real one."""
    max_held_characters: int = 2000
    """A line without an end is given out in pieces of this length."""


class TextPreprocessor:
    """Reads UTF-8 and yields a `Noted` whenever a line or sentence has ended.

    Its spans join to the text as it came. Where they are cut depends on the text alone.
    """

    def __init__(self, part: int, settings: TextSettings) -> None:
        self._part = part
        self._settings = settings
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._bytes = 0
        self._held = ""
        self._given = 0

    async def process(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[Finding, None]:
        """See `Preprocessor`."""
        async for chunk in chunks:
            self._held += self._decode(chunk, final=False)
            spans = tuple(self._spans())
            if spans:
                yield Noted(self._part, spans)
        self._held += self._decode(b"", final=True)
        spans = (*self._spans(), *self._rest())
        if not self._bytes:
            raise BadMedia(f"text {self._part}: no bytes came")
        if spans:
            yield Noted(self._part, spans)

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

    def _spans(self) -> list[Span]:
        """What is certain by now: the end of a sentence or line must be followed by something else."""
        spans: list[Span] = []
        start = 0
        while True:
            longest = start + self._settings.max_held_characters
            end = _END.search(self._held, start, longest + 1)
            if end and end.end() <= longest and end.end() < len(self._held):
                stop = end.end()
            elif len(self._held) > longest:
                stop = longest
            else:
                break
            spans.append(self._span(self._held[start:stop]))
            start = stop
        self._held = self._held[start:]
        return spans

    def _rest(self) -> list[Span]:
        held, self._held = self._held, ""
        return [self._span(held)] if held else []

    def _span(self, text: str) -> Span:
        start = self._given
        self._given += len(text)
        return Span(Modality.TEXT, self._part, text, TextOrigin(start, self._given))
