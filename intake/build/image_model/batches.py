"""What one training step sees. A batch depends on the seed and its number only, so training can go on anywhere."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from headworks.intake.build.image_model.captions import Captions
from headworks.intake.build.image_model.colours import COLOURS, main_colour
from headworks.intake.build.image_model.kinds import KINDS, Documents
from headworks.intake.build.image_model.render import Sheet
from headworks.intake.build.image_model.scenes import SIDE, Layer, compose, letterbox, make_grounds, wear
from headworks.intake.build.image_model.words import Tokens


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """How a batch is filled."""

    pictures: int = 256
    emoji_share: float = 0.84
    """Of Unicode's names, without skin tones."""
    tone_share: float = 0.03
    clean_share: float = 0.5
    """Of the drawings: on white and as they are, as most pictures of one thing come."""
    scene_share: float = 0.12
    """Of the pictures: several drawings in one."""
    document_pictures: int = 3 * len(KINDS)
    """Few of each kind, for captions of the same kind are near one another and would be told apart for nothing."""


class Batches:
    """Pictures with captions, each name at most once in a batch."""

    def __init__(
        self,
        sheet: Sheet,
        documents: Documents,
        captions: Captions,
        tokens: Tokens,
        settings: BatchSettings,
        seed: int,
    ) -> None:
        self._sheet, self._documents = sheet, documents
        self._captions, self._tokens = captions, tokens
        self._settings, self._seed = settings, seed
        self._drawings: dict[str, list[int]] = {}
        emoji: set[str] = set()
        tones: set[str] = set()
        others: set[str] = set()
        for row, subject in enumerate(sheet.subjects):
            self._drawings.setdefault(subject.name, []).append(row)
            (tones if subject.has_skin_tone else emoji if subject.is_emoji else others).add(subject.name)
        self._emoji, self._tones, self._others = sorted(emoji), sorted(tones), sorted(others - emoji)
        self._colours = [
            None if one.is_plain else main_colour(sheet.pixels[row]) for row, one in enumerate(sheet.subjects)
        ]
        self._of_kind = {
            kind: [row for row, one in enumerate(documents.items) if one.kind == kind and not is_validation(row)]
            for kind in KINDS
        }

    def batch(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return pictures, RGB uint8, shape (n, 3, SIDE, SIDE), and token ids, int64, shape (n, context)."""
        dice = random.Random(f"{self._seed} {number}")
        rng = np.random.default_rng((self._seed, number))
        layers, texts = self._lay_out(dice)
        clean = round(len(texts) * self._settings.clean_share)
        grounds = make_grounds(len(texts), rng)
        grounds[:clean] = 1
        pictures = compose(self._sheet.pixels, layers, grounds, rng)
        papers, papers_texts = self._papers(dice, rng)
        worn = wear(torch.cat((pictures[clean:], papers)), rng)
        return (torch.cat((pictures[:clean], worn)) * 255).round().byte(), self._tokens.of(texts + papers_texts)

    def _lay_out(self, dice: random.Random) -> tuple[list[Layer], list[str]]:
        settings = self._settings
        count = settings.pictures - settings.document_pictures
        emoji, tones = round(count * settings.emoji_share), round(count * settings.tone_share)
        names = dice.sample(self._emoji, emoji) + dice.sample(self._tones, tones)
        names += dice.sample(self._others, count - len(names))
        dice.shuffle(names)
        layers: list[Layer] = []
        texts = []
        for picture, name in enumerate(names):
            row = dice.choice(self._drawings[name])
            if self._sheet.subjects[row].is_emoji and dice.random() < settings.scene_share / settings.emoji_share:
                texts.append(self._scene(picture, row, layers, dice))
            else:
                texts.append(self._single(picture, row, layers, dice))
        return layers, texts

    def _single(self, picture: int, row: int, layers: list[Layer], dice: random.Random) -> str:
        subject = self._sheet.subjects[row]
        tint_name, tint = _tint(dice) if subject.is_plain else (None, None)
        scale = dice.uniform(0.7, 1.02) if dice.random() < 0.8 else dice.uniform(0.4, 0.7)
        slack = max(0.02, 1 - scale)
        turn = dice.gauss(0, 0.1) if dice.random() < 0.8 else dice.uniform(-0.6, 0.6)
        x, y = dice.uniform(-slack, slack), dice.uniform(-slack, slack)
        layers.append(Layer(picture, 0, row, x, y, scale, turn, tint))
        return self._captions.of_one(subject, tint_name or self._colours[row], dice)

    def _scene(self, picture: int, row: int, layers: list[Layer], dice: random.Random) -> str:
        rows = [
            row,
            *(dice.choice(self._drawings[name]) for name in dice.sample(self._emoji, dice.choice((0, 1, 1, 2)))),
        ]
        counts = [dice.choice((1, 1, 2, 3)) if len(rows) < 3 else 1 for _ in rows]
        if len(rows) == 1:
            counts = [dice.choice((2, 3, 4))]
        places = _places(sum(counts), dice)
        order = 0
        for which, many in zip(rows, counts, strict=True):
            tint = _tint(dice)[1] if self._sheet.subjects[which].is_plain else None
            for _ in range(many):
                x, y, scale = places.pop()
                layers.append(Layer(picture, order, which, x, y, scale, dice.gauss(0, 0.1), tint))
                order += 1
        return self._captions.of_scene([self._sheet.subjects[which] for which in rows], counts, dice)

    def _papers(self, dice: random.Random, rng: np.random.Generator) -> tuple[torch.Tensor, list[str]]:
        kinds = [list(KINDS)[index % len(KINDS)] for index in range(self._settings.document_pictures)]
        pictures, texts = torch.empty(len(kinds), 3, SIDE, SIDE), []
        for place, kind in enumerate(kinds):
            row = dice.choice(self._of_kind[kind])
            item = self._documents.items[row]
            pictures[place] = letterbox(self._documents.pixels[row, : item.height, : item.width], rng)
            texts.append(self._captions.of_document(item.captions, dice))
        return pictures, texts


def is_validation(document: int) -> bool:
    """Is a document's row kept for picking the best checkpoint?"""
    return document % 10 == 9


def _tint(dice: random.Random) -> tuple[str | None, tuple[float, float, float]]:
    """A colour to draw in, with its name unless it is ink's usual one; mostly dark."""
    name = "black" if dice.random() < 0.6 else dice.choice(list(COLOURS))
    shade = [min(255, max(0, part + dice.gauss(0, 14))) / 255 for part in COLOURS[name]]
    return None if name in ("black", "white", "grey") else name, (shade[0], shade[1], shade[2])


def _places(count: int, dice: random.Random) -> list[tuple[float, float, float]]:
    """Centres and a scale for each of several drawings, hardly over one another."""
    if count == 2 and dice.random() < 0.8:
        spots: Sequence[tuple[float, float]] = dice.choice((((-0.48, 0), (0.48, 0)), ((0, -0.48), (0, 0.48))))
        scale = 0.5
    elif count <= 4:
        spots, scale = dice.sample(((-0.48, -0.48), (0.48, -0.48), (-0.48, 0.48), (0.48, 0.48)), count), 0.48
    else:
        spots = dice.sample([(x, y) for x in (-0.64, 0.0, 0.64) for y in (-0.64, 0.0, 0.64)], count)
        scale = 0.32
    jitter = 0.06
    return [(x + dice.gauss(0, jitter), y + dice.gauss(0, jitter), scale * dice.uniform(0.85, 1.1)) for x, y in spots]
