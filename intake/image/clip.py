"""Zero-shot labels: the port, and CLIP's two towers on ONNX Runtime behind it. Blocking: use a `WorkPool`."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headworks.intake.errors import ModelMissing
from headworks.intake.finding import Label
from headworks.intake.image.label_sets import LabelSet, parse_label_sets, prompts_of
from headworks.intake.image.picture import Pixels
from headworks.intake.image.preparation import ClipPreprocessing, parse_preprocessing, prepare
from headworks.intake.image.prompt_tokens import tokenize
from headworks.intake.models.store import PULL_COMMAND, ModelKind, ModelStore
from headworks.intake.onnx.provider import OnnxSettings, ProviderChoice
from headworks.intake.onnx.session import Session, open_session

_TEXT_BATCH = 16

Embeddings = NDArray[np.float32]


class ImageTextModel(Protocol):
    """Says what a picture looks like."""

    def labels(self, pixels: Pixels) -> tuple[Label, ...]:
        """Score every label of every set.

        Args:
            pixels: RGB, shape (height, width, 3).
        Returns:
            Set by set, best first within each; scores of a set sum to 1.
        """
        ...


class ClipModel:
    """`ImageTextModel` by CLIP. Label texts are embedded once, at load. Safe to share between threads."""

    def __init__(
        self,
        image: Session,
        preprocessing: ClipPreprocessing,
        label_sets: Mapping[str, LabelSet],
        texts: Embeddings,
    ) -> None:
        """Take what `load` prepared.

        Args:
            texts: Unit vectors, one a label, sets and labels in their order; shape (labels, dimensions).
        """
        self.choice: ProviderChoice = image.choice
        self._image = image
        self._preprocessing = preprocessing
        self._label_sets = dict(label_sets)
        self._texts = texts

    @classmethod
    def load(cls, store: ModelStore, settings: OnnxSettings) -> "ClipModel":
        """Open the store's CLIP model: image.onnx (pixels, float32, (n, 3, size, size)) and text.onnx (token ids,
        int64, (n, context)), each with one output of shape (n, dimensions); tokenizer.json; preprocess.json (the
        fields of `ClipPreprocessing`); labels.json (see `label_sets`).

        Raises:
            ModelMissing: not in the store, or damaged.
            NoProvider: none of the wanted execution providers is usable.
        """
        folder = store.find(ModelKind.CLIP).path
        try:
            preprocessing = parse_preprocessing((folder / "preprocess.json").read_text("utf-8"))
            label_sets = parse_label_sets((folder / "labels.json").read_text("utf-8"))
            prompts = prompts_of(label_sets)
            ids = tokenize(folder / "tokenizer.json", [text for texts in prompts for text in texts], preprocessing)
        except Exception as error:
            raise ModelMissing(f"The clip model {folder.name} is damaged ({error}); run: {PULL_COMMAND}") from error
        text = open_session(folder / "text.onnx", settings)
        batches = [_embed(text, ids[start : start + _TEXT_BATCH]) for start in range(0, len(ids), _TEXT_BATCH)]
        texts = _ensemble(np.concatenate(batches), [len(texts) for texts in prompts])
        return cls(open_session(folder / "image.onnx", settings), preprocessing, label_sets, texts)

    def labels(self, pixels: Pixels) -> tuple[Label, ...]:
        """See `ImageTextModel`."""
        cosines = self._texts @ _embed(self._image, prepare(pixels, self._preprocessing))[0]
        found: list[Label] = []
        start = 0
        for name, one in self._label_sets.items():
            scale = self._preprocessing.logit_scale / one.temperature
            shares = _softmax(scale * cosines[start : start + len(one.labels)])
            start += len(one.labels)
            scored = [Label(name, label, float(share)) for label, share in zip(one.labels, shares, strict=True)]
            found += sorted(scored, key=lambda one: -one.score)
        return tuple(found)


def _embed(session: Session, values: NDArray[Any]) -> Embeddings:
    """Unit vectors, shape (n, dimensions)."""
    return _unit(session.run({session.input_names[0]: values})[session.output_names[0]].astype(np.float32))


def _ensemble(prompts: Embeddings, counts: list[int]) -> Embeddings:
    """One unit vector a label: the direction of the mean of its prompts' unit vectors.

    Source:
        open_clip 3.3.0, zero_shot_classifier.py, build_zero_shot_classifier.
    """
    ends = np.cumsum(counts)
    means = [prompts[end - count : end].mean(axis=0) for end, count in zip(ends, counts, strict=True)]
    return _unit(np.stack(means))


def _unit(rows: Embeddings) -> Embeddings:
    unit: Embeddings = rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)
    return unit


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    powers = np.exp(logits - logits.max())
    shares: NDArray[np.float32] = powers / powers.sum()
    return shares
