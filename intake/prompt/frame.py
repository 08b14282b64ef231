"""The text that a chat template puts around its messages, tokenised once for all turns."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from headworks.intake.prompt.tokenizer import ModelTokenizer


@dataclass(frozen=True, slots=True)
class PromptShape:
    """A rendered chat around its two texts: `before` + instructions + `between` + content + `after`."""

    before: str
    between: str
    after: str
    """Ends where the model's answer begins."""
    has_system: bool
    """False where the template knows no instructions: they open the content then, and `before` is empty."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Template text, cut at its first and last control token. No other token reaches across one of these."""

    lead: str
    """The text up to the first control token; its tokens may begin in the text before the segment."""
    token_ids: tuple[int, ...]
    """The tokens from the first control token to the last; empty where there is no control token: all is lead then."""
    tail: str
    """The text after the last control token; its tokens may end in the text after the segment."""
    tokens: int
    """The number of tokens of all three, each encoded alone."""

    @classmethod
    def cut(cls, tokenizer: ModelTokenizer, text: str) -> "Segment":
        """Cut and tokenise text of our own."""
        pieces = tokenizer.split_trusted(text)
        controls = [place for place, piece in enumerate(pieces) if isinstance(piece, int)]
        if not controls:
            return cls(text, (), "", len(tokenizer.encode_plain(text)))
        first, end = controls[0], controls[-1] + 1
        lead, tail = _joined(pieces[:first]), _joined(pieces[end:])
        token_ids = tuple(
            chain.from_iterable(
                (piece,) if isinstance(piece, int) else tokenizer.encode_plain(piece) for piece in pieces[first:end]
            )
        )
        tokens = len(tokenizer.encode_plain(lead)) + len(token_ids) + len(tokenizer.encode_plain(tail))
        return cls(lead, token_ids, tail, tokens)


@dataclass(frozen=True, slots=True)
class PromptFrame:
    """A `PromptShape`, tokenised for one model."""

    before: Segment
    between: Segment
    after: Segment
    has_system: bool

    @classmethod
    def cut(cls, tokenizer: ModelTokenizer, shape: PromptShape) -> "PromptFrame":
        """Cut and tokenise a shape's three texts."""
        before, between, after = (Segment.cut(tokenizer, text) for text in (shape.before, shape.between, shape.after))
        return cls(before, between, after, shape.has_system)


def _joined(pieces: Iterable[int | str]) -> str:
    return "".join(piece for piece in pieces if isinstance(piece, str))
