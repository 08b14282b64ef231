"""Drawings as pixels, rendered once into one file that training maps into memory."""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import resvg_py
from numpy.typing import NDArray
from PIL import Image

from headworks.intake.build.image_model.names import (
    Emoji,
    EmojiNames,
    country_names,
    holds_any,
    icon_name,
    keywords_of,
    plain_words,
)
from headworks.intake.build.image_model.progress import Progress
from headworks.intake.build.image_model.sets import NAMES, SETS, Drawing, IconSet, Role, aliases, drawings, fetch

SIDE = 96
"""Pixels; the long side of a drawing fills it."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What one rendered drawing shows."""

    set: str
    name: str
    words: tuple[str, ...]
    """Other names and keywords."""
    is_emoji: bool
    is_plain: bool
    has_skin_tone: bool


@dataclass(frozen=True, slots=True)
class Sheet:
    """Rendered drawings."""

    subjects: Sequence[Subject]
    pixels: NDArray[np.uint8]
    """RGBA with colour multiplied by alpha, shape (subjects, SIDE, SIDE, 4); one-colour drawings are white."""


def render_role(role: Role, kept_out: Sequence[str], folder: Path, progress: Progress) -> Sheet:
    """Return the sheet of all sets of a role, rendered unless the folder holds it.

    Args:
        kept_out: Names of which no drawing and no caption may be in the sheet.
    """
    index, store = folder / f"{role}.json", folder / f"{role}.npy"
    if not index.exists():
        found = list(_subjects(role, kept_out, folder / "npm"))
        pixels = np.zeros((len(found), SIDE, SIDE, 4), np.uint8)
        kept: list[Subject] = []
        for done, (subject, drawing) in enumerate(found):
            picture = _render(drawing.svg)
            if picture is not None:
                pixels[len(kept)] = picture
                kept.append(subject)
            progress.step(f"render {role}", done + 1, len(found))
        np.save(store, pixels[: len(kept)])
        index.write_text(json.dumps([asdict(one) for one in kept]), "utf-8")
    subjects = [Subject(**{**one, "words": tuple(one["words"])}) for one in json.loads(index.read_text("utf-8"))]
    return Sheet(subjects, np.load(store, mmap_mode="r"))


def on_white(drawings: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """RGBA multiplied by alpha to RGB on a white ground; any leading shape."""
    return np.asarray(drawings[..., :3] + (255 - drawings[..., 3:]), np.uint8)


def _subjects(role: Role, kept_out: Sequence[str], cache: Path) -> Iterator[tuple[Subject, Drawing]]:
    names = EmojiNames.load(fetch(NAMES, cache) / "en")
    countries = country_names(names)
    for icons in SETS:
        if icons.role is role:
            others = aliases(icons, cache)
            for drawing in drawings(icons, cache):
                emoji = names.of(drawing) if icons.is_emoji else None
                if emoji is not None:
                    subject: Subject | None = _of_emoji(icons, emoji, kept_out)
                elif icons.is_emoji:
                    subject = None
                else:
                    subject = _of_icon(icons, drawing, others.get(drawing.name, []), countries, kept_out)
                if subject is not None and not holds_any(subject.name, kept_out):
                    yield subject, drawing


def _of_emoji(icons: IconSet, emoji: Emoji, kept_out: Sequence[str]) -> Subject:
    return Subject(
        set=icons.name,
        name=emoji.name,
        words=tuple(keywords_of(emoji, kept_out)),
        is_emoji=True,
        is_plain=icons.name.endswith(("monotone", "high-contrast")),
        has_skin_tone=emoji.has_skin_tone,
    )


def _of_icon(
    icons: IconSet, drawing: Drawing, others: Sequence[str], countries: Mapping[str, str], kept_out: Sequence[str]
) -> Subject | None:
    if icons.name == "circle-flags":
        name = countries.get(drawing.name)
        return Subject(icons.name, name, (), False, False, False) if name else None
    spellings = {plain_words(icon_name(other)) for other in others}
    words = tuple(sorted(word for word in spellings if not holds_any(word, kept_out)))
    return Subject(icons.name, plain_words(icon_name(drawing.name)), words, False, drawing.is_plain, False)


def _render(svg: str) -> NDArray[np.uint8] | None:
    """RGBA multiplied by alpha, centred in the square; None for an empty or broken drawing."""
    try:
        png = resvg_py.svg_to_bytes(svg_string=svg.replace("currentColor", "#fff"), width=SIDE, skip_system_fonts=True)
    except ValueError:
        return None
    image = Image.open(io.BytesIO(bytes(png))).convert("RGBA")
    if max(image.size) > SIDE:
        image.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    square = np.zeros((SIDE, SIDE, 4), np.uint8)
    top, left = (SIDE - image.height) // 2, (SIDE - image.width) // 2
    square[top : top + image.height, left : left + image.width] = np.asarray(image)
    alpha = square[..., 3:].astype(np.uint16)
    square[..., :3] = (square[..., :3] * alpha + 127) // 255
    return square if alpha.any() else None
