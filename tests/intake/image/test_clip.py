"""Zero-shot labels."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from headworks.intake.errors import ModelMissing
from headworks.intake.image.clip import ClipModel, ClipPreprocessing, prepare
from headworks.intake.models.store import ModelStore
from headworks.intake.onnx.provider import OnnxSettings
from tests.intake.image.clip_model import LABELS, make_store, reference_scores
from tests.intake.image.pictures import draw

HOW = ClipPreprocessing(8, (0.5, 0.4, 0.3), (0.2, 0.25, 0.3), 6, 10.0)
PIXELS = np.asarray(draw(["Label me"], (120, 60)))


def test_scores_equal_the_definition_of_clip(tmp_path: Path) -> None:
    """Cosine of two unit vectors, scaled, softmax over each set."""
    model = ClipModel.load(make_store(tmp_path), OnnxSettings())
    expected = reference_scores(prepare(PIXELS, HOW))
    found = model.labels(PIXELS)
    assert [label.set_name for label in found] == ["content"] * 3 + ["safety"] * 2
    for label in found:
        assert label.score == pytest.approx(expected[label.set_name][label.name], abs=1e-5)
    for name in LABELS:
        scores = [label.score for label in found if label.set_name == name]
        assert scores == sorted(scores, reverse=True)
        assert sum(scores) == pytest.approx(1, abs=1e-6)


def test_prepared_picture_equals_resize_crop_normalise() -> None:
    """As open_clip does it: short side to size, centre crop, then mean and deviation."""
    image = Image.fromarray(PIXELS).resize((16, 8), Image.Resampling.BICUBIC).crop((4, 0, 12, 8))
    expected = (np.asarray(image, dtype=np.float32) / 255 - HOW.mean) / HOW.std
    found = prepare(PIXELS, HOW)
    assert found.shape == (1, 3, 8, 8)
    assert found.dtype == np.float32
    # The crop's border differs by what a filter sees beyond it.
    assert np.abs(found[0].transpose(1, 2, 0) - expected)[:, 1:-1].max() < 0.05


@pytest.mark.parametrize("size", [(1, 1), (1, 20_000), (20_000, 1), (8, 8)])
def test_thin_pictures_stay_small(size: tuple[int, int]) -> None:
    """V1: a thin picture must not be blown up before it is cropped."""
    assert prepare(np.zeros((*size, 3), np.uint8), HOW).shape == (1, 3, 8, 8)


@pytest.mark.parametrize("name", ["preprocess.json", "labels.json", "tokenizer.json", "text.onnx"])
def test_damaged_model_says_what_to_run(tmp_path: Path, name: str) -> None:
    """Same size, other bytes: the store's quick check does not see it."""
    store = make_store(tmp_path)
    path = tmp_path / "clip" / "random" / name
    path.write_bytes(b"#" * path.stat().st_size)
    with pytest.raises(ModelMissing, match="headworks models pull"):
        ClipModel.load(store, OnnxSettings())


def test_no_model_in_the_store_says_what_to_run(tmp_path: Path) -> None:
    """The operator's task."""
    with pytest.raises(ModelMissing, match="headworks models pull"):
        ClipModel.load(ModelStore(tmp_path), OnnxSettings())
