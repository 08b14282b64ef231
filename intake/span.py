"""A span: one stretch of input that has become certain, as text and as tokens."""

from dataclasses import dataclass
from enum import StrEnum


class Modality(StrEnum):
    """The kinds of input a turn may carry."""

    TEXT = "text"
    VOICE = "voice"
    IMAGE = "image"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class TextOrigin:
    """Characters of the text part, counted in code points; the end is exclusive."""

    start_character: int
    end_character: int


@dataclass(frozen=True, slots=True)
class AudioOrigin:
    """Milliseconds from the first sample of the voice part; the end is exclusive."""

    start_milliseconds: int
    end_milliseconds: int


@dataclass(frozen=True, slots=True)
class ImageOrigin:
    """A box in pixels of the picture as a person sees it (after EXIF rotation), origin top left."""

    left: int
    top: int
    right: int
    bottom: int


@dataclass(frozen=True, slots=True)
class TableOrigin:
    """Rows counted from 0, the end exclusive; the columns in the order of the text."""

    first_row: int
    end_row: int
    columns: tuple[str, ...]


Origin = TextOrigin | AudioOrigin | ImageOrigin | TableOrigin


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of one part of the input."""

    modality: Modality
    part: int
    """Which part of its modality in this turn, from 1."""
    text: str
    origin: Origin
    confidence: float | None = None
    """In [0, 1]; None where the source has no notion of it (text, tables)."""
    is_final: bool = True
    """False for what may still change (a partial transcript); such a span never gets tokens."""
    token_ids: tuple[int, ...] = ()
    """The prompt tokens that this span made certain; filled in by `PromptWriter`."""
