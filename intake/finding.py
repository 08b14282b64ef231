"""What a preprocessor found out about a part, with the spans that are certain by now."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from headworks.intake.span import AudioOrigin, ImageOrigin, Span

MAX_NOTED_SPANS = 128
"""Of one finding: each span costs whoever reads it some 20 microseconds, however short it is."""
MAX_NOTED_CHARACTERS = 4096
"""Of one finding: tokens of this much text take some milliseconds. A single span may be longer, by settings."""


@dataclass(frozen=True, slots=True)
class Noted:
    """Text taken as it came."""

    part: int
    spans: tuple[Span, ...]

    def joined(self, following: "Noted") -> "Noted | None":
        """Return both as one finding; None when that would hold too much."""
        spans = self.spans + following.spans
        fits = len(spans) <= MAX_NOTED_SPANS and sum(len(span.text) for span in spans) <= MAX_NOTED_CHARACTERS
        return Noted(self.part, spans) if fits else None


@dataclass(frozen=True, slots=True)
class Heard:
    """A transcript of one utterance. A partial replaces the partial before it; a final ends the utterance."""

    part: int
    transcript: str
    is_final: bool
    confidence: float
    """Mean token probability, in [0, 1]."""
    origin: AudioOrigin
    spans: tuple[Span, ...]
    """One span when final and not silent, else empty."""


@dataclass(frozen=True, slots=True)
class TextLine:
    """One printed line that OCR read."""

    text: str
    confidence: float
    box: ImageOrigin


@dataclass(frozen=True, slots=True)
class Label:
    """A zero-shot label with its share of the softmax over its label set, in [0, 1]."""

    set_name: str
    """The label set: "content", "document" or "safety"."""
    name: str
    score: float


def best_labels(labels: Iterable[Label], most: int) -> tuple[Label, ...]:
    """Keep the first `most` labels of each set; they come best first within each."""
    seen: Counter[str] = Counter()
    kept = []
    for label in labels:
        seen[label.set_name] += 1
        if seen[label.set_name] <= most:
            kept.append(label)
    return tuple(kept)


@dataclass(frozen=True, slots=True)
class Seen:
    """A picture, read."""

    part: int
    format: str
    """"png", "jpeg" or "webp"."""
    width: int
    height: int
    lines: tuple[TextLine, ...]
    """In reading order."""
    labels: tuple[Label, ...]
    """Best first within each set; empty when no image-text model is in the store."""
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """One column's profile, as DuckDB's SUMMARIZE gives it."""

    name: str
    type: str
    """DuckDB's type name ("BIGINT", "VARCHAR", "DATE")."""
    nulls: int
    distinct: int
    """Approximate count of distinct values (HyperLogLog)."""
    minimum: str | None
    """As DuckDB casts it to VARCHAR; None when all values are null."""
    maximum: str | None


@dataclass(frozen=True, slots=True)
class TableProfile:
    """The shape of a table."""

    format: str
    """"csv" or "parquet"."""
    rows: int
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Read:
    """A table, profiled. Its rows are in the table store under `table_id`."""

    part: int
    table_id: str
    profile: TableProfile
    spans: tuple[Span, ...]


Finding = Noted | Heard | Seen | Read
