"""Sentences about drawings."""

import random
from collections.abc import Sequence

from headworks.intake.build.image_model.charts import COUNTS
from headworks.intake.build.image_model.names import holds_any
from headworks.intake.build.image_model.render import Subject

_FRAMES = (
    "{}",
    "a picture of {}",
    "a drawing of {}",
    "an icon of {}",
    "{} emoji",
    "{} icon",
    "clip art of {}",
    "{} symbol",
    "an image of {}",
    "{} on a plain background",
)
_DOCUMENT_FRAMES = ("{}", "a {}", "a picture of a {}", "an image of a {}", "this is a {}", "a scan of a {}")


class Captions:
    """Writes captions that hold none of the names that are kept out."""

    def __init__(self, kept_out: Sequence[str]) -> None:
        self._kept_out = kept_out

    def of_one(self, subject: Subject, colour: str | None, dice: random.Random) -> str:
        """Name a drawing, its colour too where it is known."""
        name = subject.name
        if subject.words and dice.random() < 0.2:
            name = f"{name}, {dice.choice(subject.words)}" if subject.is_emoji else dice.choice(subject.words)
        if colour and dice.random() < 0.35:
            name = f"{colour} {name}" if dice.random() < 0.6 else f"{name} in {colour}"
        frame = "{}" if dice.random() < 0.6 else dice.choice(_FRAMES)
        return self._allowed(frame.format(name), subject.name)

    def of_scene(self, subjects: Sequence[Subject], counts: Sequence[int], dice: random.Random) -> str:
        """Name several drawings and how many there are of each, in their order."""
        parts = [_counted(subject.name, count) for subject, count in zip(subjects, counts, strict=True)]
        frame = "{}" if dice.random() < 0.6 else "a picture of {}"
        return self._allowed(frame.format(" and ".join(parts)), " and ".join(subject.name for subject in subjects))

    def of_document(self, captions: Sequence[str], dice: random.Random) -> str:
        """Take one of the sentences that are true of a document; its kind in half of the cases."""
        words = captions[0] if dice.random() < 0.5 else dice.choice(captions)
        return dice.choice(_DOCUMENT_FRAMES).format(words)

    def _allowed(self, caption: str, plainer: str) -> str:
        return plainer if holds_any(caption.replace(",", ""), self._kept_out) else caption


def _counted(name: str, count: int) -> str:
    if count == 1:
        return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
    return f"{COUNTS[count]} {name}{'' if name.endswith('s') else 's'}"
