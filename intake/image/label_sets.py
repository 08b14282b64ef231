"""labels.json: what a picture may look like, as sets of labels. Of each set, one label fits best."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_MAX_NAME_CHARACTERS = 64
"""Names go into prompts, policy and replies. The longest of the shipped model has 32 characters."""
_MAX_PROMPT_CHARACTERS = 400
"""A text tower reads 77 tokens, which are about 350 characters of English; it would not see what follows."""


class Pooling(StrEnum):
    """How the distance of a picture to a label with several prompts is found."""

    MEAN = "mean"
    """To the mean of the prompts, for a label whose prompts say one thing in several ways."""
    NEAREST = "nearest"
    """To the nearest prompt, for a label that gathers things of many kinds, as "safe" does."""


@dataclass(frozen=True, slots=True)
class LabelSet:
    """One question to a picture, with its possible answers."""

    labels: Mapping[str, tuple[str, ...]]
    """Label -> the prompts that stand for it together, one at least. Two labels at least, in order."""
    temperature: float = 1.0
    """Divides the model's logit scale before the softmax: 1 is the model's own, more is less sure. It is fitted on
    pictures whose label is known, so that a score of 0.8 is right four times in five."""
    pooling: Pooling = Pooling.MEAN


class LabelRows:
    """The texts of one label set in a model's space, ready to be compared with pictures."""

    def __init__(self, labels: LabelSet, texts: Floats) -> None:
        """Take unit vectors of all prompts, label by label, in the set's order; shape (prompts, dimensions)."""
        counts = [len(prompts) for prompts in labels.labels.values()]
        if labels.pooling is Pooling.MEAN:
            means = np.stack([rows.mean(axis=0) for rows in np.split(texts, np.cumsum(counts)[:-1])])
            texts, counts = means / np.linalg.norm(means, axis=1, keepdims=True), [1] * len(counts)
        self._texts = texts
        self._starts = np.cumsum([0, *counts[:-1]])

    def cosines(self, pictures: Floats) -> Floats:
        """How near every label is to every picture.

        Args:
            pictures: Unit vectors, shape (pictures, dimensions).
        Returns:
            Shape (pictures, labels).
        Source:
            The mean: open_clip 3.3.0, zero_shot_classifier.py, build_zero_shot_classifier.
        """
        nearest: Floats = np.maximum.reduceat(pictures @ self._texts.T, self._starts, axis=1)
        return nearest


def parse_label_sets(text: str) -> dict[str, LabelSet]:
    """Read labels.json: {set: {"temperature": 1.0, "labels": {label: [prompt, ...]}}}; a set may say its "pooling".

    Returns:
        By name, in the file's order.
    Raises:
        ValueError: not JSON, not of this form, or a name twice; it says where.
    """
    raw = json.loads(text, object_pairs_hook=_without_twins)
    if not isinstance(raw, dict) or not raw:
        raise ValueError("labels.json: no label sets")
    return {_name(name): _set(f"labels.json: {name}", value) for name, value in raw.items()}


def default_label_sets() -> dict[str, LabelSet]:
    """Return the label sets for a model that has none of its own. They ask what a picture shows, what kind of document
    it is, and whether it is safe. Their temperatures are 1, which means that nobody has fitted them."""
    return parse_label_sets((files("headworks.intake.image") / "labels.json").read_text("utf-8"))


def write_label_sets(sets: Mapping[str, LabelSet]) -> str:
    """Return the text of labels.json."""
    body = {
        name: {
            "temperature": one.temperature,
            "pooling": one.pooling.value,
            "labels": {label: list(texts) for label, texts in one.labels.items()},
        }
        for name, one in sets.items()
    }
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


def prompts_of(sets: Mapping[str, LabelSet]) -> list[tuple[str, ...]]:
    """Return each label's prompts, sets and labels in their order."""
    return [prompts for one in sets.values() for prompts in one.labels.values()]


def _set(where: str, raw: Any) -> LabelSet:
    if not isinstance(raw, dict) or raw.keys() - {"pooling"} != {"temperature", "labels"}:
        raise ValueError(f"{where}: not an object of temperature and labels")
    temperature, labels, pooling = raw["temperature"], raw["labels"], raw.get("pooling", Pooling.MEAN)
    if pooling not in list(Pooling):
        raise ValueError(f"{where}: pooling {pooling!r} is none of {', '.join(Pooling)}")
    if type(temperature) not in (int, float) or not math.isfinite(temperature) or temperature <= 0:
        raise ValueError(f"{where}: temperature {temperature!r} is no number above 0")
    if not isinstance(labels, dict) or len(labels) < 2:
        raise ValueError(f"{where}: a choice needs two labels")
    return LabelSet(
        {_name(name): _prompts(f"{where}: {name}", value) for name, value in labels.items()},
        temperature,
        Pooling(pooling),
    )


def _prompts(where: str, raw: Any) -> tuple[str, ...]:
    if not isinstance(raw, list) or not raw:
        raise ValueError(f"{where}: no list of prompts")
    for prompt in raw:
        if not isinstance(prompt, str) or not prompt.strip() or len(prompt) > _MAX_PROMPT_CHARACTERS:
            raise ValueError(f"{where}: {prompt!r} is no prompt of 1 to {_MAX_PROMPT_CHARACTERS} characters")
    return tuple(raw)


def _name(name: str) -> str:
    """Check a name of a set or of a label."""
    if not 0 < len(name) <= _MAX_NAME_CHARACTERS or not name.isprintable() or name != name.strip():
        raise ValueError(f"labels.json: {name!r} is no name of 1 to {_MAX_NAME_CHARACTERS} printable characters")
    return name


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("labels.json: a name stands there twice")
    return found
