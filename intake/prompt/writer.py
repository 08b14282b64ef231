"""From spans to one chat prompt, token by token, while spans still arrive."""

from dataclasses import replace

from headworks.intake.errors import TooLarge
from headworks.intake.prompt.frame import Segment
from headworks.intake.prompt.headers import HeaderGuard, header
from headworks.intake.prompt.settings import PromptSettings
from headworks.intake.prompt.template import ChatTemplate
from headworks.intake.prompt.tokenizer import IncrementalTokenizer, ModelTokenizer
from headworks.intake.span import Span, TextOrigin


class PromptWriter:
    """Writes one turn's prompt. `start`, then any `write`s, then `finish`, each once in that order.

    All ids, in order, equal tokenising the rendered chat at once, except that control tokens spelt in
    instructions or spans stay the characters they are made of. Each part of the input opens with a line that
    names it; its spans are lines below, but text spans that follow each other in their part stay joined as they
    came. What could pass for such a line gets a backslash before it.

    One call costs as much as its span and `held_characters` together, and all calls together as much as all spans.
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
        self._guard = HeaderGuard()
        self._space: list[str] = []
        self._space_characters = 0
        self._tokens = 0

    @property
    def tokens(self) -> int:
        """Prompt tokens given out so far."""
        return self._tokens

    @property
    def held_characters(self) -> int:
        """Characters that were written and have no tokens yet: the next call may have to encode them."""
        return self._guard.held_characters + self._space_characters + self._stream.held_characters

    def start(self) -> tuple[int, ...]:
        """Return the template up to the user's message, as far as it is certain.

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

        A span that is not final, or is empty, comes back as it is.

        Raises:
            TooLarge: the prompt would be over `intake.prompt.max_tokens`.
        """
        if not span.is_final or not span.text:
            return span
        text = self._guarded(span)
        self._last = span
        return replace(span, token_ids=self._count(self._feed(text)))

    def finish(self) -> tuple[int, ...]:
        """Return the last tokens of the content and the template up to where the answer begins.

        Raises:
            TooLarge: as `write`.
        """
        ids = self._feed(self._guard.finish()) + self._put(self._frame.after) + self._stream.finish()
        self._suffix_tokens = 0
        return self._count(ids)

    def _guarded(self, span: Span) -> str:
        """Return a span's text and what stands between it and the span before, without false headers."""
        last = self._last
        if last is None or (last.modality, last.part) != (span.modality, span.part):
            opening = ("\n" if last else "") + header(span.modality, span.part) + "\n"
            return self._guard.finish() + opening + self._guard.feed(span.text)
        return self._guard.feed(span.text if _are_joined(last, span) else "\n" + span.text)

    def _feed(self, text: str) -> tuple[int, ...]:
        """Tokenise content, but for white space at its end: templates may trim it when nothing follows."""
        certain = text.rstrip()
        if not certain:
            self._hold_space(text)
            return ()
        written = "".join((*self._space, certain))
        self._refuse_more_than_fits(self._stream.fewest_tokens(len(written)))
        self._space, self._space_characters = [], 0
        self._hold_space(text[len(certain) :])
        return self._stream.feed(written)

    def _hold_space(self, space: str) -> None:
        self._space.append(space)
        self._space_characters += len(space)

    def _put(self, segment: Segment) -> tuple[int, ...]:
        ids = self._stream.feed(segment.lead)
        if not segment.token_ids:
            return ids
        return ids + self._stream.finish() + segment.token_ids + self._stream.feed(segment.tail)

    def _count(self, ids: tuple[int, ...]) -> tuple[int, ...]:
        self._refuse_more_than_fits(len(ids))
        self._tokens += len(ids)
        return ids

    def _refuse_more_than_fits(self, more: int) -> None:
        seen = self._tokens + more + self._suffix_tokens
        if seen > self._settings.max_tokens:
            raise TooLarge("intake.prompt.max_tokens", self._settings.max_tokens, seen)


def _are_joined(last: Span, span: Span) -> bool:
    """Whether a span goes on where the one before it ended."""
    return (
        isinstance(last.origin, TextOrigin)
        and isinstance(span.origin, TextOrigin)
        and last.origin.end_character == span.origin.start_character
    )
