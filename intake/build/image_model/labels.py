"""The label sets that ship with the model, and their temperatures."""

from collections import Counter
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from headworks.intake.build.image_model.kinds import KINDS
from headworks.intake.build.image_model.names import EmojiNames
from headworks.intake.build.image_model.render import Sheet
from headworks.intake.image.label_sets import LabelSet, Pooling

Floats = NDArray[np.float32]

_THINGS = frozenset({3, 4, 5, 6, 7})
"""Unicode's groups of things; faces, people and symbols are told apart too badly to be worth a label."""
_MANY_STYLES = 7
"""Drawings that training must have seen of a thing for it to become a label."""
_WEAPONS = ("water pistol", "pistol", "kitchen knife", "dagger", "crossed swords", "bomb", "axe")
_GORE = ("drop of blood", "skull", "skull and crossbones", "coffin", "zombie")
_RUDE = ("middle finger", "face with symbols on mouth")
ALARMING: Mapping[str, tuple[str, ...]] = {"weapon": _WEAPONS, "gore": _GORE, "rude gesture": _RUDE}
"""Unicode's names by the safety label that they ought to get; every other name ought to be safe."""


def label_sets(names: EmojiNames, sheet: Sheet) -> dict[str, LabelSet]:
    """Return the sets content, document and safety, of temperature 1."""
    drawings = Counter(subject.name for subject in sheet.subjects if subject.is_emoji)
    known = sorted({one.name for one in names.every if not one.has_skin_tone and drawings[one.name] >= _MANY_STYLES})
    groups = {one.name: one.group for one in names.every}
    things = [one for one in known if groups[one] in _THINGS and not one.endswith(("oclock", "thirty", "button"))]
    documents = tuple(f"a picture of a {kind}" for kind in KINDS)
    alarms = {name for some in ALARMING.values() for name in some}
    content: dict[str, tuple[str, ...]] = {name: (name,) for name in things}
    content["other"] = (*(one for one in known if one not in content), *documents)
    document: dict[str, tuple[str, ...]] = {kind: (f"a {kind}", f"a picture of a {kind}") for kind in KINDS}
    document["drawing"] = ("an icon", "clip art", "a drawing of a thing", "emoji")
    safety = {"safe": (*(one for one in known if one not in alarms), *documents), **ALARMING}
    return {
        "content": LabelSet(content, pooling=Pooling.NEAREST),
        "document": LabelSet(document),
        "safety": LabelSet(safety, pooling=Pooling.NEAREST),
    }


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


def _loss(logits: Floats, answers: NDArray[np.int64]) -> float:
    shifted = logits - logits.max(1, keepdims=True)
    picked = shifted[np.arange(len(answers)), answers]
    return float((np.log(np.exp(shifted).sum(1)) - picked).mean())
