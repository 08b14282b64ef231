"""Zero-shot labels: the port, and CLIP's two towers on ONNX Runtime behind it. Blocking: use a `WorkPool`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headworks.intake.errors import ModelMissing
from headworks.intake.finding import Label
from headworks.intake.image.label_sets import LabelRows, LabelSet, parse_label_sets
from headworks.intake.image.picture import Pixels
from headworks.intake.image.preparation import ClipPreprocessing, parse_preprocessing, prepare
from headworks.intake.image.prompt_tokens import tokenize
from headworks.intake.models.store import PULL_COMMAND, ModelKind, ModelStore
from headworks.intake.onnx.provider import ProviderChoice
from headworks.intake.onnx.session import Session, open_session
from headworks.intake.onnx.settings import OnnxSettings

_TEXT_BATCH = 16
"""Texts in one run of the text tower. The shipped model has 2,097 prompts, and one run of all of them would need memory
for all of them at once. They are embedded only when the model is opened, so a larger batch would gain nothing."""
_LEAST_LENGTH = 1e-12
"""Divides a vector of zeros; the same as torch.nn.functional.normalize has."""

Embeddings = NDArray[np.float32]


class ImageTextModel(Protocol):
    """Tells what a picture looks like."""

    def labels(self, pixels: Pixels) -> tuple[Label, ...]:
        """Score every label of every set.

        Args:
            pixels: RGB, shape (height, width, 3).
        Returns:
            Set by set, best first within each; scores of a set sum to 1.
        """
        ...


class Towers:
    """The two halves of CLIP: they turn pictures and texts into unit vectors of one space, so that a picture can be
    compared with a text. Threads may share them."""

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

    def images(self, pictures: Sequence[Pixels]) -> Embeddings:
        """Embed pictures of any sizes in one run.

        Args:
            pictures: RGB, each of shape (height, width, 3).
        Returns:
            Shape (pictures, dimensions).
        """
        return _embed(self._image, np.concatenate([prepare(pixels, self.preprocessing) for pixels in pictures]))

    def texts(self, texts: Sequence[str]) -> Embeddings:
        """Embed texts; shape (texts, dimensions).

        Raises:
            ModelMissing: tokenizer.json is not there, or damaged.
        """
        with _damage_of(self._tokenizer.parent):
            ids = tokenize(self._tokenizer, list(texts), self.preprocessing)
        starts = range(0, len(ids), _TEXT_BATCH)
        return np.concatenate([_embed(self._text, ids[start : start + _TEXT_BATCH]) for start in starts])


class ClipModel:
    """`ImageTextModel` by CLIP. The labels' texts are embedded once, when it is made. Threads may share it."""

    def __init__(self, towers: Towers, label_sets: Mapping[str, LabelSet]) -> None:
        self.choice = towers.choice
        self._towers = towers
        self._label_sets = dict(label_sets)
        self._rows = _label_rows(towers, label_sets)

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
        image = self._towers.images([pixels])
        found: list[Label] = []
        for name, one in self._label_sets.items():
            scale = self._towers.preprocessing.logit_scale / one.temperature
            shares = _softmax(scale * self._rows[name].cosines(image)[0])
            scored = [Label(name, label, float(share)) for label, share in zip(one.labels, shares, strict=True)]
            found += sorted(scored, key=lambda one: -one.score)
        return tuple(found)


@contextmanager
def _damage_of(folder: Path) -> Iterator[None]:
    """Tell the operator what to run when a parser finds a file damaged."""
    try:
        yield
    except Exception as error:  # `tokenizers` has no narrower one
        raise ModelMissing(f"The clip model {folder.name} is damaged ({error}); run: {PULL_COMMAND}") from error


def _label_rows(towers: Towers, label_sets: Mapping[str, LabelSet]) -> dict[str, LabelRows]:
    """By set; a text that several sets hold is embedded once."""
    texts = {name: [text for prompts in one.labels.values() for text in prompts] for name, one in label_sets.items()}
    distinct = list(dict.fromkeys(text for some in texts.values() for text in some))
    found = dict(zip(distinct, towers.texts(distinct), strict=True))
    return {name: LabelRows(one, np.stack([found[text] for text in texts[name]])) for name, one in label_sets.items()}


def _embed(session: Session, values: NDArray[Any]) -> Embeddings:
    """Unit vectors, shape (n, dimensions)."""
    found = session.run({session.input_names[0]: values})[session.output_names[0]].astype(np.float32)
    unit: Embeddings = found / np.maximum(np.linalg.norm(found, axis=-1, keepdims=True), _LEAST_LENGTH)
    return unit


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    powers = np.exp(logits - logits.max())
    shares: NDArray[np.float32] = powers / powers.sum()
    return shares
