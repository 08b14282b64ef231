r"""Where a pre-tokenizer's cuts are final. Pure functions over text and over tokenizer.json's own words.

A byte-level BPE tokenizer cuts text into pretokens with a regular expression and encodes each alone, so the
tokens of a pretoken are certain once no later text can move its borders. The expressions of the families below
look ahead only within a run of one kind (letters, marks and digits; white space; the rest), one character past
it, or over a contraction of three characters; none looks behind. So the pretokens are final up to the last border
between runs but one, if a contraction that begins there has come whole.
"""

import unicodedata
from collections.abc import Mapping
from typing import Any

_CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_LONGEST_CONTRACTION = 3
"""In characters. The o200k family takes a contraction into the word before it."""
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
KNOWN_ALTERNATIVES = frozenset(
    {
        _CONTRACTION,
        *("'s", "'t", "'re", "'ve", "'m", "'ll", "'d"),
        r" ?\p{L}+",
        r" ?\p{N}+",
        r"\p{N}",
        r"\p{N}+",
        r"\p{N}{1,3}",
        r"[^\r\n\p{L}\p{N}]?\p{L}+",
        r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}?",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}?",
        r" ?[^\s\p{L}\p{N}]+",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    }
)
"""The alternatives of GPT-2, cl100k (Llama 3), Qwen 2 and 3, o200k (Llama 4) and Tekken, as their tokenizer.json
spells them. A pattern made of these, and of nothing else, holds to the rule above."""


def has_final_cuts(spec: Mapping[str, Any]) -> bool:
    """Whether the rule above holds for a tokenizer.json (parsed); else nothing is certain before the end."""
    model = spec["model"]
    if model.get("type") != "BPE" or model.get("dropout") or not _is_known_normalizer(spec.get("normalizer")):
        return False
    return not _kept_added_tokens(spec) and _is_known_pre_tokenizer(spec.get("pre_tokenizer"))


def count_borders(text: str, kind: str, enough: int) -> tuple[int, str]:
    """Count the borders between runs in `text`, which follows a character of `kind` ("" at the start).

    Returns:
        The count, at most `enough`, and the kind of the last character looked at. Characters that this Python
        does not know belong to the run they stand in: the tokenizer's library may know them.
    """
    borders = 0
    for character in text:
        found = _kind(character)
        if found and found != kind:
            borders += bool(kind)
            kind = found
            if borders >= enough:
                break
    return borders, kind


def final_border(text: str) -> int:
    """Return the last border that no later text can move; 0 for none. The pretokens up to it are final."""
    is_last = True
    kind = ""
    for position in range(len(text) - 1, -1, -1):
        found = _kind(text[position])
        if found and kind and found != kind:
            if not is_last and position + 1 + _LONGEST_CONTRACTION <= len(text):
                return position + 1
            is_last = False
        kind = found or kind
    return 0


def composed_end(text: str) -> int:
    """Return where the last character stands that composes with nothing before it (NFC); -1 for none."""
    for position in range(len(text) - 1, -1, -1):
        if _starts_afresh(text[position]):
            return position
    return -1


def _kind(character: str) -> str:
    """Return "a" for letters, marks and digits, "s" for white space and controls, "o" for the rest, "" if unknown."""
    if character.isalnum():
        return "a"
    category = unicodedata.category(character)
    if category[0] in "LMN":
        return "a"
    if category[0] == "Z" or category == "Cc":
        return "s"
    return "" if category in {"Cn", "Co", "Cs"} else "o"


def _starts_afresh(character: str) -> bool:
    """Return False for marks, for what composes backwards (Hangul jamo, Kirat Rai vowels) and for the unknown."""
    code = ord(character)
    if code < 0x300:
        return True
    if 0x1100 <= code <= 0x11FF or 0xD7B0 <= code <= 0xD7FF or 0x16D40 <= code <= 0x16D7F:
        return False
    return unicodedata.category(character) not in {"Mn", "Mc", "Me", "Cn", "Co"}


def _is_known_normalizer(normalizer: Mapping[str, Any] | None) -> bool:
    return normalizer is None or normalizer.get("type") == "NFC"


def _kept_added_tokens(spec: Mapping[str, Any]) -> bool:
    """Whether plain text may hold added tokens: runs of white space, which are no control tokens."""
    return any(not token["content"].strip() for token in spec.get("added_tokens", ()))


def _is_known_pre_tokenizer(pre: Mapping[str, Any] | None) -> bool:
    if pre is None:
        return False
    match pre.get("type"):
        case "Sequence":
            steps = pre.get("pretokenizers", [])
            return bool(steps) and all(_is_known_pre_tokenizer(step) for step in steps)
        case "ByteLevel":
            return not pre.get("add_prefix_space")
        case "Digits":
            return True
        case "Split":
            pattern = pre.get("pattern", {}).get("Regex")
            is_plain = pre.get("behavior") == "Isolated" and not pre.get("invert")
            return is_plain and pattern is not None and set(_alternatives(pattern)) <= KNOWN_ALTERNATIVES
        case _:
            return False


def _alternatives(pattern: str) -> list[str]:
    """Split a pattern at its top-level bars."""
    found, start, depth, position = [], 0, 0, 0
    while position < len(pattern):
        character = pattern[position]
        if character == "\\":
            position += 1
        elif character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif character == "|" and not depth:
            found.append(pattern[start:position])
            start = position + 1
        position += 1
    return [*found, pattern[start:]]
