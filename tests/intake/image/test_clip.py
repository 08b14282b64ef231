"""Zero-shot labels."""

from pathlib import Path

import numpy as np
import pytest

from headworks.intake.errors import ModelMissing
from headworks.intake.image.clip import ClipModel, Towers
from headworks.intake.image.label_sets import LabelSet, Pooling
from headworks.intake.image.preparation import prepare
from headworks.intake.models.store import ModelKind, ModelStore
from headworks.intake.onnx.settings import OnnxSettings
from tests.intake.image.clip_model import HOW, SETS, make_store, reference_scores
from tests.intake.image.pictures import draw

PIXELS = np.asarray(draw(["Label me"], (120, 60)))


def test_scores_equal_the_definition_of_clip(tmp_path: Path) -> None:
    """Cosine with the mean of a label's prompts, scaled, over the set's temperature, softmax over each set."""
    model = ClipModel.load(make_store(tmp_path), OnnxSettings())
    expected = reference_scores(prepare(PIXELS, HOW))
    found = model.labels(PIXELS)
    assert [label.set_name for label in found] == ["content"] * 3 + ["safety"] * 2
    for label in found:
        assert label.score == pytest.approx(expected[label.set_name][label.name], abs=1e-5)
    for name in SETS:
        scores = [label.score for label in found if label.set_name == name]
        assert scores == sorted(scores, reverse=True)
        assert sum(scores) == pytest.approx(1, abs=1e-6)


def test_nearest_prompt_counts_where_a_set_says_so(tmp_path: Path) -> None:
    """A label that gathers many things is not the middle of them."""
    towers = Towers.load(make_store(tmp_path).find(ModelKind.CLIP).path, OnnxSettings())
    labels = {"one": ("a receipt", "a dog"), "other": ("a chart",)}
    found = ClipModel(towers, {"any": LabelSet(labels, pooling=Pooling.NEAREST)}).labels(PIXELS)
    cosines = towers.texts(["a receipt", "a dog", "a chart"]) @ towers.images([PIXELS])[0]
    logits = towers.preprocessing.logit_scale * np.array([cosines[:2].max(), cosines[2]])
    shares = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    assert {one.name: one.score for one in found} == pytest.approx({"one": shares[0], "other": shares[1]}, abs=1e-5)


def test_label_without_a_form_is_damage(tmp_path: Path) -> None:
    """The layout before label sets had prompts alone; the sentence says where it is wrong."""
    store = make_store(tmp_path)
    path = tmp_path / "clip" / "random" / "labels.json"
    size = path.stat().st_size
    path.write_text('{"content": {"receipt": "a photo of a receipt"}}'.ljust(size))
    with pytest.raises(ModelMissing, match="content: not an object of temperature and labels"):
        ClipModel.load(store, OnnxSettings())


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
