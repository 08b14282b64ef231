"""The lines that name each part of the input, and what must not pass for one of them."""

import re
import unicodedata
from functools import lru_cache

from headworks.intake.span import Modality

_HEADERS = {
    Modality.TEXT: "[text {part}]",
    Modality.VOICE: "[voice {part}]",
    Modality.IMAGE: "[image {part}: text read from it]",
    Modality.TABLE: "[table {part}]",
}
_FOLDED_STARTS = tuple(f"{modality.value}1" for modality in Modality)
"""What every header begins with after its bracket, once it is folded. Every digit is folded to 1."""
_BRACKET = re.compile("[\\[\ufe47\uff3b]")
"""The characters that NFKD turns into `[`."""
_LOOK_ALIKES = str.maketrans("аеосхіѵтмӏвταβεχοιμνıɡɑᴛᴇᴠᴏɪᴄᴍᴀɢʙʟ", "aeocxivtmlbtabexoimvigatevoicmagbl")
"""Cyrillic, Greek and phonetic letters that are drawn like the letters of the kinds' names."""
_BLANKS = frozenset("\u115f\u1160\u2800")
"""Hangul fillers and the empty Braille pattern: blank, though they count as letters and as a symbol."""


def header(modality: Modality, part: int) -> str:
    """Return the line that opens a part of the input."""
    return _HEADERS[modality].format(part=part)


class HeaderGuard:
    """Puts a backslash before each `[` of a text with which a header could begin, wherever the text was cut.

    A header could begin where a kind's name and a digit follow the bracket, read as a person would: upper case,
    full-width letters, accents, look-alikes, white space and invisible characters make no difference. What stands
    before the bracket makes none either, so it does not matter what a reader takes for the start of a line.
    """

    _MAX_HEADER_CHARACTERS = 64
    """A bracket that is undecided after so many characters gets its backslash: "[", 60 blanks, "table 1"."""

    def __init__(self) -> None:
        self._held = ""

    @property
    def held_characters(self) -> int:
        """Characters held back: a bracket, and what may turn out to be a header's."""
        return len(self._held)

    def feed(self, text: str) -> str:
        """Take more text and return it, guarded, up to the first bracket that is not decided yet."""
        text = self._held + text
        guarded: list[str] = []
        start = 0
        for bracket in _BRACKET.finditer(text):
            is_header = self._is_header(text, bracket.end())
            if is_header is None:
                self._held = text[bracket.start() :]
                return "".join((*guarded, text[start : bracket.start()]))
            if is_header:
                guarded += (text[start : bracket.start()], "\\")
                start = bracket.start()
        self._held = ""
        return "".join((*guarded, text[start:]))

    def finish(self) -> str:
        """Return what was held back: with no more text to follow it is no header."""
        held, self._held = self._held, ""
        return held

    def _is_header(self, text: str, place: int) -> bool | None:
        """Whether a header goes on from `place`, after its bracket; None when more text must tell."""
        read = ""
        for character in text[place : place + self._MAX_HEADER_CHARACTERS]:
            read += _folded(character)
            if read.startswith(_FOLDED_STARTS):
                return True
            if not any(start.startswith(read) for start in _FOLDED_STARTS):
                return False
        return True if len(text) - place >= self._MAX_HEADER_CHARACTERS else None


@lru_cache(maxsize=1024)
def _folded(character: str) -> str:
    """What a reader sees of a character: "" for nothing, "1" for any digit."""
    seen = []
    for one in unicodedata.normalize("NFKD", character).casefold().translate(_LOOK_ALIKES):
        if one.isdigit():
            seen.append("1")
        elif one not in _BLANKS and unicodedata.category(one)[0] not in "MZ" and not _is_invisible(one):
            seen.append(one)
    return "".join(seen)


def _is_invisible(character: str) -> bool:
    return unicodedata.category(character) in {"Cc", "Cf", "Cn"}
