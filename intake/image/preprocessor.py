"""Pictures in, printed lines and labels out."""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

from headworks.intake.errors import TooLarge
from headworks.intake.finding import Finding, Label, Seen, TextLine, best_labels
from headworks.intake.image.clip import ClipModel, ImageTextModel
from headworks.intake.image.formats.header import HEAD_BYTES, tell_format
from headworks.intake.image.ocr.model import OcrModel
from headworks.intake.image.picture import Picture, decode
from headworks.intake.image.settings import ImageSettings
from headworks.intake.models.store import ModelKind, ModelStore
from headworks.intake.onnx.settings import OnnxSettings
from headworks.intake.span import ImageOrigin, Modality, Span
from headworks.intake.work import WorkPool

_LIKELY = 0.5
"""Score above which a label is told to the language model, which cannot weigh it as policy can."""


@dataclass(frozen=True, slots=True)
class ImageModels:
    """What reads pictures; shared by all turns."""

    ocr: OcrModel
    image_text: ImageTextModel | None
    """None when no CLIP model is in the store: pictures get no labels then."""

    @classmethod
    def load(cls, store: ModelStore, settings: OnnxSettings) -> "ImageModels":
        """Open the store's OCR model, and its CLIP model if it has one.

        Raises:
            ModelMissing: no OCR model, or a damaged one of either kind.
            NoProvider: none of the wanted execution providers is usable.
        """
        has_clip = any(model.kind is ModelKind.CLIP for model, _ in store.models())
        return cls(OcrModel.load(store, settings), ClipModel.load(store, settings) if has_clip else None)


class ImagePreprocessor:
    """Reads one picture and yields one `Seen` when all of it is there."""

    def __init__(self, part: int, models: ImageModels, pool: WorkPool, settings: ImageSettings) -> None:
        self._part = part
        self._models = models
        self._pool = pool
        self._settings = settings

    async def process(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[Finding, None]:
        """See `Preprocessor`."""
        data = bytearray()
        async for chunk in chunks:
            data += chunk
            if len(data) > self._settings.max_bytes:
                raise TooLarge("intake.image.max_bytes", self._settings.max_bytes, len(data))
            if len(data) - len(chunk) < HEAD_BYTES:
                tell_format(bytes(data[:HEAD_BYTES]), self._part)
        yield await self._pool.run(self._see, bytes(data))

    def _see(self, data: bytes) -> Seen:
        picture = decode(data, self._part, self._settings)
        lines = self._models.ocr.read(picture.pixels, self._settings.max_lines)
        model = self._models.image_text
        labels = best_labels(model.labels(picture.pixels), self._settings.max_labels) if model else ()
        return Seen(
            self._part,
            picture.format.value,
            picture.width,
            picture.height,
            lines,
            labels,
            write_spans(self._part, picture, lines, labels),
        )


def write_spans(
    part: int, picture: Picture, lines: tuple[TextLine, ...], labels: tuple[Label, ...]
) -> tuple[Span, ...]:
    """Write one span with the best label of each set, where that is likely, and then one span per printed line."""
    likely = [label.name for label in best_labels(labels, 1) if label.score > _LIKELY]
    spans = []
    if likely:
        whole = ImageOrigin(0, 0, picture.width, picture.height)
        spans.append(Span(Modality.IMAGE, part, "looks like: " + ", ".join(likely), whole))
    spans += [Span(Modality.IMAGE, part, line.text, line.box, line.confidence) for line in lines]
    return tuple(spans)
