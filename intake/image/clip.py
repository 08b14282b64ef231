"""Zero-shot labels: the port, and CLIP's two towers on ONNX Runtime behind it. Blocking: use a `WorkPool`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from tokenizers import Tokenizer

from headworks.intake.errors import ModelMissing
from headworks.intake.finding import Label
from headworks.intake.image.picture import Pixels
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


@dataclass(frozen=True, slots=True)
class ClipPreprocessing:
    """preprocess.json: how this model wants its inputs."""

    size: int
    """Side of the square, pixels."""
    mean: tuple[float, float, float]
    """Of RGB in [0, 1]."""
    std: tuple[float, float, float]
    context_tokens: int
    """Length of every text, padded or cut; 77 for OpenAI's."""
    logit_scale: float
    """What cosines are multiplied by before the softmax; 100 for OpenAI's."""
    pad_token: int = 0


class ClipModel:
    """`ImageTextModel` by CLIP. Label texts are embedded once, at load. Safe to share between threads."""

    def __init__(
        self,
        image: Session,
        preprocessing: ClipPreprocessing,
        label_sets: Mapping[str, tuple[str, ...]],
        texts: Embeddings,
    ) -> None:
        """Take what `load` prepared.

        Args:
            texts: Unit vectors, one a label, all sets in their order; shape (labels, dimensions).
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
        fields of `ClipPreprocessing`); labels.json ({set: {label: the text that stands for it}}).

        Raises:
            ModelMissing: not in the store, or damaged.
            NoProvider: none of the wanted execution providers is usable.
        """
        folder = store.find(ModelKind.CLIP).path
        try:
            raw: dict[str, Any] = json.loads((folder / "preprocess.json").read_text("utf-8"))
            preprocessing = ClipPreprocessing(**{**raw, "mean": tuple(raw["mean"]), "std": tuple(raw["std"])})
            label_sets: dict[str, dict[str, str]] = json.loads((folder / "labels.json").read_text("utf-8"))
            prompts = [text for labels in label_sets.values() for text in labels.values()]
            ids = _tokenize(folder / "tokenizer.json", prompts, preprocessing)
        except Exception as error:
            raise ModelMissing(f"The clip model {folder.name} is damaged; run: {PULL_COMMAND}") from error
        text = open_session(folder / "text.onnx", settings)
        batches = [_embed(text, ids[start : start + _TEXT_BATCH]) for start in range(0, len(ids), _TEXT_BATCH)]
        names = {name: tuple(labels) for name, labels in label_sets.items()}
        return cls(open_session(folder / "image.onnx", settings), preprocessing, names, np.concatenate(batches))

    def labels(self, pixels: Pixels) -> tuple[Label, ...]:
        """See `ImageTextModel`."""
        cosines = self._texts @ _embed(self._image, prepare(pixels, self._preprocessing))[0]
        found: list[Label] = []
        start = 0
        for name, labels in self._label_sets.items():
            shares = _softmax(self._preprocessing.logit_scale * cosines[start : start + len(labels)])
            start += len(labels)
            scored = [Label(name, label, float(share)) for label, share in zip(labels, shares, strict=True)]
            found += sorted(scored, key=lambda one: -one.score)
        return tuple(found)


def prepare(pixels: Pixels, how: ClipPreprocessing) -> NDArray[np.float32]:
    """Short side to `size` (bicubic), centre square, normalised.

    Returns:
        float32, shape (1, 3, size, size).
    Source:
        open_clip 2.30, transform.py, image_transform(is_train=False).
    """
    image = Image.fromarray(pixels)
    scale = how.size / min(image.size)
    wide, tall = (max(how.size, round(side * scale)) for side in image.size)
    left, top = round((wide - how.size) / 2), round((tall - how.size) / 2)
    # Only the square's own source is resized: a thin picture must not grow to many pixels first.
    source = (
        left / scale,
        top / scale,
        min((left + how.size) / scale, image.width),
        min((top + how.size) / scale, image.height),
    )
    square = image.resize((how.size, how.size), Image.Resampling.BICUBIC, box=source)
    values = np.asarray(square, dtype=np.float32) / 255
    normal = (values - np.array(how.mean, np.float32)) / np.array(how.std, np.float32)
    return np.ascontiguousarray(normal.transpose(2, 0, 1)[None], dtype=np.float32)


def _tokenize(path: Path, texts: list[str], how: ClipPreprocessing) -> NDArray[np.int64]:
    """Token ids with the model's own start and end, shape (texts, context_tokens)."""
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.enable_truncation(how.context_tokens)
    tokenizer.enable_padding(length=how.context_tokens, pad_id=how.pad_token)
    return np.array([one.ids for one in tokenizer.encode_batch(texts)], dtype=np.int64)


def _embed(session: Session, values: NDArray[Any]) -> Embeddings:
    """Unit vectors, shape (n, dimensions)."""
    found = session.run({session.input_names[0]: values})[session.output_names[0]].astype(np.float32)
    unit: Embeddings = found / np.maximum(np.linalg.norm(found, axis=-1, keepdims=True), 1e-12)
    return unit


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    powers = np.exp(logits - logits.max())
    shares: NDArray[np.float32] = powers / powers.sum()
    return shares
