"""The label sets that ship with the model, and their temperatures."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from headworks.intake.image.training.kinds import KINDS
from headworks.intake.image.training.names import EmojiNames
from headworks.intake.image.training.render import Sheet

LabelSets = dict[str, dict[str, list[str]]]
Floats = NDArray[np.float32]

_THINGS = frozenset({3, 4, 5, 6, 7})
"""Unicode's groups of things; faces, people and symbols are told apart too badly to be worth a label."""
_MANY_STYLES = 7
"""Drawings that training must have seen of a thing for it to become a label."""
_SAFETY: dict[str, list[str]] = {
    "safe": [
        "smiling face",
        "animal",
        "food",
        "building",
        "plant",
        "tool",
        "vehicle",
        "flag",
        "a bar chart",
        "a page of text",
        "a screenshot",
        "a photograph",
        "heart",
        "arrow",
        "clock",
        "person",
    ],
    "weapon": ["pistol", "gun", "dagger", "crossed swords", "bomb", "axe weapon"],
    "gore": ["drop of blood", "skull and crossbones", "coffin", "zombie"],
    "rude gesture": ["middle finger", "face with symbols on mouth"],
}
ALARMING: Mapping[str, frozenset[str]] = {
    "weapon": frozenset({"water pistol", "kitchen knife", "dagger", "crossed swords", "bomb", "axe"}),
    "gore": frozenset({"drop of blood", "skull", "skull and crossbones", "coffin", "zombie"}),
    "rude gesture": frozenset({"middle finger", "face with symbols on mouth"}),
}
"""Unicode's names by the safety label that they ought to get; every other name ought to be safe."""


def label_sets(names: EmojiNames, sheet: Sheet) -> LabelSets:
    """Return the prompts of every label of the sets content, document and safety."""
    drawings: dict[str, int] = {}
    for subject in sheet.subjects:
        drawings[subject.name] = drawings.get(subject.name, 0) + subject.is_emoji
    things = [one.name for one in names.every if one.group in _THINGS and drawings.get(one.name, 0) >= _MANY_STYLES]
    content = {name: [name] for name in sorted(things) if not name.endswith(("oclock", "thirty", "button"))}
    content["other"] = [f"a picture of a {kind}" for kind in KINDS] + ["face", "person", "symbol"]
    document = {kind: [f"a {kind}", f"a picture of a {kind}"] for kind in KINDS}
    document["drawing"] = ["an icon", "clip art", "a drawing of a thing", "emoji"]
    return {"content": content, "document": document, "safety": _SAFETY}


def fit_temperature(cosines: Floats, answers: NDArray[np.int64], logit_scale: float) -> float:
    """Find what divides the logit scale so that the scores are as likely as can be on answers that are known.

    Args:
        cosines: Shape (pictures, labels).
        answers: Right label of each picture.
    Source:
        Guo et al. 2017, On Calibration of Modern Neural Networks, section 4.2.
    """
    tried = np.geomspace(0.2, 8, 120)
    losses = [_loss(cosines * (logit_scale / temperature), answers) for temperature in tried]
    return round(float(tried[int(np.argmin(losses))]), 3)


def calibration_error(scores: Floats, answers: NDArray[np.int64], bins: int = 10) -> float:
    """Mean distance between how sure the best label is and how often it is right, in [0, 1] (ECE).

    Args:
        scores: Shape (pictures, labels), each row sums to 1.
    """
    best, right = scores.max(1), scores.argmax(1) == answers
    places = np.minimum((best * bins).astype(int), bins - 1)
    gaps = [abs(best[places == one].sum() - right[places == one].sum()) for one in range(bins)]
    return float(sum(gaps) / len(answers))


def safety_answer(name: str) -> str:
    """Return the safety label that a name ought to get."""
    return next((label for label, names in ALARMING.items() if name in names), "safe")


def mean_prompts(embeddings: Floats, prompts: Sequence[Sequence[str]]) -> Floats:
    """One unit vector a label from the unit vectors of its prompts, all in their order."""
    ends = np.cumsum([len(texts) for texts in prompts])
    rows = np.stack([embeddings[end - len(texts) : end].mean(0) for end, texts in zip(ends, prompts, strict=True)])
    unit: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def _loss(logits: Floats, answers: NDArray[np.int64]) -> float:
    shifted = logits - logits.max(1, keepdims=True)
    picked = shifted[np.arange(len(answers)), answers]
    return float((np.log(np.exp(shifted).sum(1)) - picked).mean())
