"""What each drawing shows, in words; and which names are kept out of training."""

import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headworks.intake.build.image_model.sets import Drawing

COMPOSED_NAMES = 100
"""How many names are held out to be understood from their parts."""
_SEED = 20261130
_SKIN_TONE = re.compile(r"1F3F[B-F]")
_STYLE_WORDS = re.compile(
    r"\b(outline|filled?|duo|flat|solid|baseline|twotone|rounded|sharp|negative|variant|24px|box|16|20|24|28|32|48)\b"
)
_COMMON = frozenset({"with", "and", "of", "in", "on", "the", "a", "symbol", "button", "person", "face", "sign"})


@dataclass(frozen=True, slots=True)
class Emoji:
    """One of Unicode's names."""

    name: str
    """Lower case, words apart: "red heart", "man cook medium skin tone"."""
    keywords: tuple[str, ...]
    hexcode: str
    group: int
    """Unicode's: 0 faces, 1 people, 3 animals and plants, 4 food, 5 places, 6 activities, 7 objects, 8 symbols."""
    has_skin_tone: bool
    is_flag: bool


class EmojiNames:
    """Unicode's names, found by code points or by any set's spelling."""

    def __init__(self, every: Sequence[Emoji], spellings: Mapping[str, str]) -> None:
        """Take what `load` read.

        Args:
            spellings: Squeezed spelling to hexcode.
        """
        self.every = every
        self._by_code = {emoji.hexcode: emoji for emoji in every}
        self._spellings = spellings

    @classmethod
    def load(cls, folder: Path) -> "EmojiNames":
        """Read emojibase-data's English folder."""
        every: list[Emoji] = []
        for entry in json.loads((folder / "data.json").read_text("utf-8")):
            if "group" in entry:
                every += [_emoji(one, entry.get("tags", ())) for one in (entry, *entry.get("skins", ()))]
        spellings = {_squeeze(emoji.name): emoji.hexcode for emoji in every}
        for path in sorted((folder / "shortcodes").glob("*.json")):
            for hexcode, codes in json.loads(path.read_text("utf-8")).items():
                for code in [codes] if isinstance(codes, str) else codes:
                    spellings.setdefault(_squeeze(code), _code(hexcode))
        return cls(every, spellings)

    def of(self, drawing: Drawing) -> Emoji | None:
        """Return what a drawing is, where its set says so in code points or by a known spelling."""
        by_code = self._by_code.get(drawing.hexcode or "")
        return by_code or self._by_code.get(self._spellings.get(_squeeze(drawing.name), ""))


def held_out(names: EmojiNames, drawn: Iterable[str]) -> tuple[str, ...]:
    """Choose the names that no caption may hold: each of their words is also in two other names that stay.

    Args:
        drawn: The names that the test's style has a drawing of.
    Returns:
        `COMPOSED_NAMES` names, sorted; the same for the same Unicode version.
    """
    plain = [one.name for one in names.every if not one.has_skin_tone and not one.is_flag]
    uses = Counter(word for name in plain for word in _words(name))
    chosen: list[str] = []
    candidates = sorted(set(drawn) & set(plain))
    random.Random(_SEED).shuffle(candidates)
    for name in candidates:
        words = _words(name)
        if len(words) >= 2 and all(uses[word] >= 3 for word in words) and not _within(name, plain):
            uses.subtract(words)
            chosen.append(name)
        if len(chosen) == COMPOSED_NAMES:
            break
    return tuple(sorted(chosen))


def holds_any(text: str, phrases: Iterable[str]) -> bool:
    """Is one of the phrases in the text, as whole words?"""
    padded = f" {text} "
    return any(f" {phrase} " in padded for phrase in phrases)


def icon_name(name: str) -> str:
    """Turn an icon's file name into words: "account-arrow-left-outline" is "account arrow left"."""
    words = name.replace("-", " ").replace("_", " ")
    return " ".join(_STYLE_WORDS.sub(" ", words).split()) or words


def country_names(names: EmojiNames) -> Mapping[str, str]:
    """Two-letter country codes, lower case, to the names of their flags."""
    found = {}
    for emoji in names.every:
        points = [int(part, 16) for part in emoji.hexcode.split("-")]
        if len(points) == 2 and all(0x1F1E6 <= point <= 0x1F1FF for point in points):
            found["".join(chr(point - 0x1F1E6 + ord("a")) for point in points)] = emoji.name
    return found


def _emoji(entry: Mapping[str, object], tags: Iterable[str]) -> Emoji:
    hexcode = _code(str(entry["hexcode"]))
    label = str(entry["label"])
    return Emoji(
        name=plain_words(label),
        keywords=tuple(plain_words(tag) for tag in tags),
        hexcode=hexcode,
        group=int(str(entry["group"])),
        has_skin_tone=bool(_SKIN_TONE.search(hexcode)),
        is_flag=label.startswith("flag:"),
    )


def plain_words(text: str) -> str:
    """Lower case, letters and digits, one space between words."""
    return " ".join(re.sub(r"[^\w]+", " ", text.lower().replace("\u2019", "").replace("'", "")).split())


def _words(name: str) -> list[str]:
    return [word for word in name.split() if word not in _COMMON]


def _within(name: str, others: Iterable[str]) -> bool:
    """Is the name a part of another name, whose captions would then hold it?"""
    return any(other != name and holds_any(other, (name,)) for other in others)


def _code(hexcode: str) -> str:
    return hexcode.upper().replace("-FE0F", "")


def _squeeze(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.lower())


def keywords_of(emoji: Emoji, kept_out: Sequence[str]) -> Iterator[str]:
    """Yield an emoji's keywords without those that would give a held-out name away."""
    for word in emoji.keywords:
        if not holds_any(word, kept_out):
            yield word
