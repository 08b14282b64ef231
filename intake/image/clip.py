"""Zero-shot labels: the port, and CLIP's two towers on ONNX Runtime behind it. Blocking: use a `WorkPool`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headworks.intake.errors import ModelMissing
from headworks.intake.finding import Label
from headworks.intake.image.label_sets import LabelSet, Pooling, parse_label_sets
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


class Towers:
    """CLIP's two sides: pictures and texts to unit vectors of one space. Safe to share between threads."""

    def __init__(self, image: Session, text: Session, tokenizer: Path, preprocessing: ClipPreprocessing) -> None:
        self.choice: ProviderChoice = image.choice
        self.preprocessing = preprocessing
        self._image, self._text = image, text
        self._tokenizer = tokenizer

    @classmethod
    def load(cls, folder: Path, settings: OnnxSettings) -> "Towers":
        """Open image.onnx (pixels, float32, (n, 3, size, size)) and text.onnx (token ids, int64, (n, context)), each
        with one output of shape (n, dimensions); beside them tokenizer.json and preprocess.json (the fields of
        `ClipPreprocessing`).

        Raises:
            ModelMissing: a file is not there, or damaged.
            NoProvider: none of the wanted execution providers is usable.
        """
        with _damage_of(folder):
            preprocessing = parse_preprocessing((folder / "preprocess.json").read_text("utf-8"))
        image, text = (open_session(folder / name, settings) for name in ("image.onnx", "text.onnx"))
        return cls(image, text, folder / "tokenizer.json", preprocessing)

    def image(self, pixels: Pixels) -> Embeddings:
        """Embed one picture.

        Args:
            pixels: RGB, shape (height, width, 3).
        Returns:
            Shape (dimensions,).
        """
        unit: Embeddings = self.images([pixels])[0]
        return unit

    def images(self, pictures: Sequence[Pixels]) -> Embeddings:
        """Embed pictures of any sizes in one run; shape (pictures, dimensions)."""
        return _embed(self._image, np.concatenate([prepare(pixels, self.preprocessing) for pixels in pictures]))

    def texts(self, prompts: Sequence[tuple[str, ...]]) -> Embeddings:
        """Embed labels: each is the direction of the mean of its prompts' unit vectors.

        Returns:
            Shape (labels, dimensions).
        Raises:
            ModelMissing: tokenizer.json is not there, or damaged.
        Source:
            open_clip 3.3.0, zero_shot_classifier.py, build_zero_shot_classifier.
        """
        with _damage_of(self._tokenizer.parent):
            ids = tokenize(self._tokenizer, [text for texts in prompts for text in texts], self.preprocessing)
        batches = [_embed(self._text, ids[start : start + _TEXT_BATCH]) for start in range(0, len(ids), _TEXT_BATCH)]
        ends = np.cumsum([len(texts) for texts in prompts])
        return _unit(np.stack([one.mean(axis=0) for one in np.split(np.concatenate(batches), ends[:-1])]))


class ClipModel:
    """`ImageTextModel` by CLIP. Label texts are embedded once, here. Safe to share between threads."""

    def __init__(self, towers: Towers, label_sets: Mapping[str, LabelSet]) -> None:
        self.choice = towers.choice
        self._towers = towers
        self._label_sets = dict(label_sets)
        self._texts = _text_rows(towers, label_sets)

    @classmethod
    def load(cls, store: ModelStore, settings: OnnxSettings) -> "ClipModel":
        """Open the store's CLIP model: what `Towers` takes, and labels.json (see `label_sets`).

        Raises:
            ModelMissing: not in the store, or damaged.
            NoProvider: none of the wanted execution providers is usable.
        """
        folder = store.find(ModelKind.CLIP).path
        with _damage_of(folder):
            label_sets = parse_label_sets((folder / "labels.json").read_text("utf-8"))
        return cls(Towers.load(folder, settings), label_sets)

    def labels(self, pixels: Pixels) -> tuple[Label, ...]:
        """See `ImageTextModel`."""
        image = self._towers.image(pixels)
        found: list[Label] = []
        for name, one in self._label_sets.items():
            scale = self._towers.preprocessing.logit_scale / one.temperature
            shares = _softmax(scale * np.array([(rows @ image).max() for rows in self._texts[name]], np.float32))
            scored = [Label(name, label, float(share)) for label, share in zip(one.labels, shares, strict=True)]
            found += sorted(scored, key=lambda one: -one.score)
        return tuple(found)


@contextmanager
def _damage_of(folder: Path) -> Iterator[None]:
    """Turn what a parser says of a file into what the operator can do."""
    try:
        yield
    except Exception as error:  # `tokenizers` has no narrower one
        raise ModelMissing(f"The clip model {folder.name} is damaged ({error}); run: {PULL_COMMAND}") from error


def _text_rows(towers: Towers, label_sets: Mapping[str, LabelSet]) -> dict[str, list[Embeddings]]:
    """One row a label, or one a prompt where the nearest counts; no text is embedded twice."""
    wanted: dict[str, list[list[tuple[str, ...]]]] = {}
    for name, one in label_sets.items():
        each = one.pooling is Pooling.NEAREST
        wanted[name] = [[(text,) for text in prompts] if each else [prompts] for prompts in one.labels.values()]
    distinct = list(dict.fromkeys(prompts for labels in wanted.values() for rows in labels for prompts in rows))
    found = dict(zip(distinct, towers.texts(distinct), strict=True))
    return {name: [np.stack([found[one] for one in rows]) for rows in labels] for name, labels in wanted.items()}


def _embed(session: Session, values: NDArray[Any]) -> Embeddings:
    """Unit vectors, shape (n, dimensions)."""
    return _unit(session.run({session.input_names[0]: values})[session.output_names[0]].astype(np.float32))


def _unit(rows: Embeddings) -> Embeddings:
    unit: Embeddings = rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)
    return unit


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    powers = np.exp(logits - logits.max())
    shares: NDArray[np.float32] = powers / powers.sum()
    return shares
