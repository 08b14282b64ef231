"""A picture part from bytes to spans."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import numpy as np
import pytest

from headworks.intake.errors import BadMedia, ModelMissing, TooLarge
from headworks.intake.finding import Label, Seen, TextLine, best_labels
from headworks.intake.image.formats.header import PictureFormat
from headworks.intake.image.ocr.model import OcrModel
from headworks.intake.image.picture import Picture, Pixels
from headworks.intake.image.preprocessor import ImageModels, ImagePreprocessor, write_spans
from headworks.intake.image.settings import ImageSettings
from headworks.intake.models.store import ModelStore
from headworks.intake.onnx.settings import OnnxSettings
from headworks.intake.span import ImageOrigin
from headworks.intake.work import WorkPool, WorkSettings
from tests.intake.image.pictures import RECEIPT, draw, encode, png_that_claims

LABELS = (
    Label("content", "receipt", 0.9),
    Label("content", "chart", 0.1),
    Label("safety", "harmless", 0.8),
    Label("safety", "other", 0.2),
)


class FixedLabels:
    """Sees a receipt in everything."""

    def labels(self, pixels: Pixels) -> tuple[Label, ...]:
        return LABELS


@pytest.fixture(scope="module")
def ocr(store: ModelStore) -> OcrModel:
    return OcrModel.load(store, OnnxSettings())


@pytest.fixture
def pool() -> Iterator[WorkPool]:
    pool = WorkPool("image", WorkSettings())
    yield pool
    pool.close()


async def see(
    data: bytes, models: ImageModels, pool: WorkPool, settings: ImageSettings | None = None, step: int = 7
) -> list[Seen]:
    asked = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal asked
        for asked in range(0, len(data), step):
            yield data[asked : asked + step]

    preprocessor = ImagePreprocessor(1, models, pool, settings or ImageSettings())
    try:
        found = [one async for one in preprocessor.process(chunks())]
    except (BadMedia, TooLarge) as error:
        error.add_note(f"after {asked + step} bytes")
        raise
    return [one for one in found if isinstance(one, Seen)]


def test_best_label_of_each_set_is_one_span_before_the_lines() -> None:
    """The model reads what it looks at before what is printed there; a label's score is no reading confidence."""
    picture = Picture(PictureFormat.PNG, np.zeros((10, 20, 3), np.uint8))
    line = TextLine("TOTAL 1.00", 0.75, ImageOrigin(1, 2, 3, 4))
    spans = write_spans(1, picture, (line,), LABELS)
    assert [(span.text, span.confidence, span.origin) for span in spans] == [
        ("looks like: receipt, harmless", None, ImageOrigin(0, 0, 20, 10)),
        ("TOTAL 1.00", 0.75, ImageOrigin(1, 2, 3, 4)),
    ]
    assert write_spans(1, picture, (), ()) == ()


def test_label_that_is_likelier_wrong_is_not_told_to_the_model() -> None:
    """Policy gets it with its score; a language model would take it for true."""
    picture = Picture(PictureFormat.PNG, np.zeros((10, 20, 3), np.uint8))
    unsure = (Label("content", "dog", 0.4), Label("content", "cat", 0.35), Label("document", "drawing", 0.9))
    assert [span.text for span in write_spans(1, picture, (), unsure)] == ["looks like: drawing"]
    assert write_spans(1, picture, (), unsure[:2]) == ()


def test_best_labels_of_each_set_are_kept() -> None:
    """A set may hold hundreds of labels, and every reply would carry them."""
    assert best_labels(LABELS, 1) == (LABELS[0], LABELS[2])
    assert best_labels(LABELS, 5) == LABELS


@pytest.mark.models
async def test_picture_becomes_lines_and_labels(ocr: OcrModel, pool: WorkPool) -> None:
    """Cut anywhere, the bytes are the same picture."""
    (found,) = await see(RECEIPT, ImageModels(ocr, FixedLabels()), pool)
    assert (found.format, found.width, found.height) == ("png", 480, 372)
    assert [span.text for span in found.spans][:3] == [
        "looks like: receipt, harmless",
        "HEADWORKS CAFE",
        "Receipt 2025-03",
    ]
    assert found.labels == LABELS
    assert [await see(RECEIPT, ImageModels(ocr, FixedLabels()), pool, step=len(RECEIPT))] == [[found]]


@pytest.mark.models
async def test_pictures_at_once_do_not_mix(ocr: OcrModel) -> None:
    """Threads share one model, each caller gets its own words (pipecat#1602)."""
    pool = WorkPool("image", WorkSettings(threads=3))
    words = ["alpha one", "bravo two", "delta four"]
    pictures = [encode(draw([word], (240, 80)), "PNG") for word in words]
    try:
        found = await asyncio.gather(*(see(one, ImageModels(ocr, None), pool, step=10_000) for one in pictures))
    finally:
        pool.close()
    assert [[line.text for line in one.lines] for (one,) in found] == [[word] for word in words]
    assert all(one.labels == () for (one,) in found)


@pytest.mark.models
async def test_bad_pictures_do_not_harm_the_next(ocr: OcrModel, pool: WorkPool) -> None:
    """Faults are told early, and the pool works on (vllm PR#55451, vllm#51467)."""
    models = ImageModels(ocr, None)
    with pytest.raises(BadMedia, match="not a PNG, JPEG or WebP") as caught:
        await see(b"GIF89a" + bytes(10_000), models, pool)
    assert caught.value.__notes__ == ["after 14 bytes"]
    with pytest.raises(TooLarge, match=r"intake\.image\.max_bytes allows 1000"):
        await see(RECEIPT, models, pool, ImageSettings(max_bytes=1000))
    with pytest.raises(TooLarge, match=r"intake\.image\.max_pixels"):
        await see(png_that_claims(40_000, 40_000), models, pool)
    with pytest.raises(BadMedia, match="no bytes came"):
        await see(b"", models, pool)
    with pytest.raises(BadMedia, match="cut short or damaged"):
        await see(RECEIPT[:-100], models, pool)
    assert len((await see(RECEIPT, models, pool))[0].lines) == 6
    assert pool.waiting == 0


@pytest.mark.models
def test_models_without_clip_give_no_labels(store: ModelStore, tmp_path: Path) -> None:
    """CLIP is wanted, not needed; OCR is needed."""
    assert isinstance(ImageModels.load(store, OnnxSettings()).ocr, OcrModel)
    with pytest.raises(ModelMissing):
        ImageModels.load(ModelStore(tmp_path), OnnxSettings())
