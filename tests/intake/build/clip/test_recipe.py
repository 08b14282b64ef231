"""CLIP models from a source into the store."""

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from headworks.intake.build.clip.recipe import exported_clip, preprocessing
from headworks.intake.build.clip.source import ClipParts, OpenClipSource, choose_tag
from headworks.intake.build.errors import ExportMismatch, PullFailed, SourceUnreachable
from headworks.intake.build.progress import SilentObserver
from headworks.intake.build.recipe import DOWNLOADS, locked, make
from headworks.intake.errors import ModelMissing
from headworks.intake.image.clip import ClipModel
from headworks.intake.image.label_sets import default_label_sets
from headworks.intake.image.preparation import Interpolation, Resize, prepare
from headworks.intake.models.store import ModelKind, ModelStore
from headworks.intake.onnx.settings import OnnxSettings
from tests.intake.build.clip.towers import SIZE, LetterTokenizer, Towers

PREPROCESS = {
    "size": (SIZE, SIZE),
    "mode": "RGB",
    "mean": (0.5, 0.4, 0.3),
    "std": (0.2, 0.25, 0.3),
    "interpolation": "bicubic",
    "resize_mode": "shortest",
    "fill_color": 0,
}


@dataclass
class FakeSource:
    """Has one model, already here."""

    model: Any = field(default_factory=Towers)
    tokenizer: Any = field(default_factory=LetterTokenizer)
    preprocess: dict[str, Any] = field(default_factory=lambda: dict(PREPROCESS))

    def version(self) -> str:
        return "1"

    def tags(self, model: str) -> Sequence[str]:
        return ["laion", "openai"]

    def fetch(self, model: str, tag: str, downloads: Path) -> ClipParts:
        (downloads / "weights.bin").write_bytes(b"half")
        return ClipParts(self.model, self.tokenizer, self.preprocess)


class UnreachableSource(FakeSource):
    """Its host went away in the middle."""

    def fetch(self, model: str, tag: str, downloads: Path) -> ClipParts:
        super().fetch(model, tag, downloads)
        raise SourceUnreachable("the host cannot be reached")


class BentTowers(Towers):
    """Computes something else in its graph."""

    def encode_image(self, pixels: Tensor) -> Tensor:
        found = super().encode_image(pixels)
        return found + 0.01 * pixels.sum() if torch.jit.is_tracing() else found


class OtherTokenizer(LetterTokenizer):
    """Takes another id for the start than its file will."""

    def __call__(self, texts: Sequence[str]) -> Tensor:
        return super().__call__(texts).roll(1, dims=1)


def build(root: Path, source: FakeSource, asked: str = "Small") -> ModelStore:
    store = ModelStore(root)
    with locked(store):
        make(store, exported_clip(asked, source), SilentObserver())
    return store


def test_exported_model_labels_as_the_pytorch_model_does(tmp_path: Path) -> None:
    """From the source to `ClipModel`, with the default label sets and nothing of torch in between."""
    store = build(tmp_path, FakeSource())
    picture = np.random.default_rng(1).integers(0, 256, (30, 40, 3), dtype=np.uint8)
    found = {(one.set_name, one.name): one.score for one in ClipModel.load(store, OnnxSettings()).labels(picture)}
    model, read = Towers().eval(), LetterTokenizer()
    how = preprocessing(ClipParts(model, read, PREPROCESS), 0)
    with torch.no_grad():
        image = torch.nn.functional.normalize(model.encode_image(torch.from_numpy(prepare(picture, how))))
        for name, one in default_label_sets().items():
            texts = [
                torch.nn.functional.normalize(model.encode_text(read(prompts))).mean(dim=0)
                for prompts in one.labels.values()
            ]
            cosines = torch.nn.functional.normalize(torch.stack(texts)) @ image[0]
            scores = (model.logit_scale.exp() / one.temperature * cosines).softmax(dim=0)
            for label, score in zip(one.labels, scores.tolist(), strict=True):
                assert found.pop((name, label)) == pytest.approx(score, abs=1e-4)
    assert not found


def test_stored_model_is_whole_and_tells_what_was_measured(tmp_path: Path) -> None:
    """Named after model and tag; the downloads are gone."""
    store = build(tmp_path, FakeSource())
    (stored, manifest), *_ = store.models()
    assert (stored.name, manifest.source) == ("Small--openai", "open_clip Small:openai")
    assert set(manifest.notes) == {"image.onnx_difference", "text.onnx_difference"}
    assert not any(check.damage for check in store.verify())
    assert not list((tmp_path / DOWNLOADS).iterdir())


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (FakeSource(model=BentTowers()), r"image\.onnx is off by"),
        (FakeSource(tokenizer=OtherTokenizer()), "reads the label prompts otherwise"),
        (FakeSource(tokenizer=object()), "cannot be written"),
    ],
)
def test_export_that_differs_is_not_stored(tmp_path: Path, source: FakeSource, sentence: str) -> None:
    """A wrong graph labels wrongly in silence."""
    with pytest.raises(ExportMismatch, match=sentence):
        build(tmp_path, source)
    with pytest.raises(ModelMissing):
        ModelStore(tmp_path).find(ModelKind.CLIP)


def test_model_that_cannot_be_exported_is_one_sentence(tmp_path: Path) -> None:
    """Here because it takes no square."""
    model = Towers()
    model.visual.image_size = (SIZE, SIZE + 1)
    with pytest.raises(PullFailed, match=r"cannot be exported \(ValueError: the image tower takes 8 x 9"):
        build(tmp_path, FakeSource(model=model))


def test_unreachable_source_keeps_what_arrived(tmp_path: Path) -> None:
    """The next pull goes on from there."""
    with pytest.raises(SourceUnreachable):
        build(tmp_path, UnreachableSource())
    assert list((tmp_path / DOWNLOADS).rglob("weights.bin"))
    assert ModelStore(tmp_path).models() == []


@pytest.mark.parametrize(
    ("tags", "wanted", "chosen"),
    [(["laion", "openai"], None, "openai"), (["webli", "other"], None, "webli"), (["a", "openai"], "a", "a")],
)
def test_tag_is_the_one_asked_for_else_openais_else_the_first(tags: list[str], wanted: str | None, chosen: str) -> None:
    """A default must not depend on chance."""
    assert choose_tag(tags, wanted, "Small") == chosen


@pytest.mark.parametrize("asked", ["", "a b", ":openai", "Small:", "../up", "Small:open/ai", "x" * 65])
def test_what_is_no_name_is_one_sentence(asked: str) -> None:
    """It would become a folder's name."""
    with pytest.raises(PullFailed, match="NAME:TAG"):
        exported_clip(asked, FakeSource())


def test_unknown_tag_names_the_known_ones() -> None:
    """The operator need not look them up."""
    with pytest.raises(PullFailed, match="laion, openai"):
        exported_clip("Small:best", FakeSource())


def test_preprocessing_is_translated() -> None:
    """By open_clip's names; one number may stand for three channels, one grey for a colour."""
    given = {**PREPROCESS, "mean": 0.5, "interpolation": "bilinear", "resize_mode": "longest", "fill_color": 7}
    how = preprocessing(ClipParts(Towers(), None, given), 3)
    assert (how.size, how.mean, how.fill, how.pad_token) == (SIZE, (0.5,) * 3, (7,) * 3, 3)
    assert (how.resize, how.interpolation) == (Resize.LONGEST, Interpolation.BILINEAR)
    assert how.logit_scale == pytest.approx(np.exp(2.0))


@pytest.mark.skipif(bool(importlib.util.find_spec("open_clip")), reason="open_clip is installed here")
def test_without_open_clip_a_sentence_says_where_to_run() -> None:
    """It is kept out of the serving environment."""
    with pytest.raises(SourceUnreachable, match=r"requirements/export\.txt"):
        OpenClipSource()
