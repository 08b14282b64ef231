"""From spans to one chat prompt, token by token, while spans still arrive."""

import re
from dataclasses import replace

from headworks.intake.errors import TooLarge
from headworks.intake.prompt.frame import Segment
from headworks.intake.prompt.settings import PromptSettings
from headworks.intake.prompt.template import ChatTemplate
from headworks.intake.prompt.tokenizer import IncrementalTokenizer, ModelTokenizer
from headworks.intake.span import Modality, Span, TextOrigin

_HEADERS = {
    Modality.TEXT: "[text {part}]",
    Modality.VOICE: "[voice {part}]",
    Modality.IMAGE: "[image {part}: text read from it]",
    Modality.TABLE: "[table {part}]",
}
_LIKE_A_HEADER = re.compile(r"^\[(?=(?:text|voice|image|table) \d)", re.MULTILINE)


class PromptWriter:
    """Writes one turn's prompt. `start`, then any `write`s, then `finish`, each once in that order.

    All ids, in order, equal tokenising the rendered chat at once, except that control tokens spelt in
    instructions or spans stay the characters they are made of. Each part of the input opens with a line that
    names it; its spans are lines below, but text spans that follow each other in their part stay joined as they
    came. A span that imitates such a line gets a backslash before it.
    """

    def __init__(
        self, tokenizer: ModelTokenizer, template: ChatTemplate, instructions: str, settings: PromptSettings
    ) -> None:
        """Take the template's frame.

        Args:
            instructions: The system message; "" for the template's own default.
        Raises:
            ModelMissing: the template does not work.
        """
        self._instructions = instructions.strip()
        self._frame = template.frame(tokenizer, bool(self._instructions))
        self._stream = IncrementalTokenizer(tokenizer)
        self._settings = settings
        self._suffix_tokens = self._frame.after.tokens
        self._last: Span | None = None
        self._held_space = ""
        self._tokens = 0

    @property
    def tokens(self) -> int:
        """Prompt tokens given out so far."""
        return self._tokens

    def start(self) -> tuple[int, ...]:
        """The template up to the user's message, as far as it is certain.

        Raises:
            TooLarge: template and instructions alone are over the limit.
        """
        ids = self._put(self._frame.before)
        if self._frame.has_system:
            ids += self._stream.feed(self._instructions)
        ids += self._put(self._frame.between)
        if self._instructions and not self._frame.has_system:
            ids += self._stream.feed(self._instructions + "\n\n")
        return self._count(ids)

    def write(self, span: Span) -> Span:
        """Take a span and return it with the tokens that became certain; they may belong to spans before it.

        A span that is not final, or is blank, comes back as it is.

        Raises:
            TooLarge: the prompt would be over `intake.prompt.max_tokens`.
        """
        if not span.is_final or not span.text:
            return span
        text = self._held_space + self._joint(span) + _LIKE_A_HEADER.sub(r"\\[", span.text)
        certain = text.rstrip()
        # White space at the end is not written before more follows: templates may trim it.
        self._held_space = text[len(certain) :]
        self._last = span
        return replace(span, token_ids=self._count(self._stream.feed(certain)))

    def finish(self) -> tuple[int, ...]:
        """The last tokens of the content and the template up to where the answer begins.

        Raises:
            TooLarge: as `write`.
        """
        ids = self._put(self._frame.after) + self._stream.finish()
        self._suffix_tokens = 0
        return self._count(ids)

    def _joint(self, span: Span) -> str:
        """What stands between the span before and this one."""
        last = self._last
        if last is None or (last.modality, last.part) != (span.modality, span.part):
            return ("\n" if last else "") + _HEADERS[span.modality].format(part=span.part) + "\n"
        is_joined = (
            isinstance(last.origin, TextOrigin)
            and isinstance(span.origin, TextOrigin)
            and last.origin.end_character == span.origin.start_character
        )
        return "" if is_joined else "\n"

    def _put(self, segment: Segment) -> tuple[int, ...]:
        ids = self._stream.feed(segment.lead)
        if not segment.token_ids:
            return ids
        return ids + self._stream.finish() + segment.token_ids + self._stream.feed(segment.tail)

    def _count(self, ids: tuple[int, ...]) -> tuple[int, ...]:
        seen = self._tokens + len(ids) + self._suffix_tokens
        if seen > self._settings.max_tokens:
            raise TooLarge("intake.prompt.max_tokens", self._settings.max_tokens, seen)
        self._tokens += len(ids)
        return ids
