"""The served model's tokenizer, fed piece by piece: tokens come out as soon as no later text can change them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from headworks.intake.errors import ModelMissing
from headworks.intake.prompt.pretokens import certain_length, composed_end, count_borders, has_final_cuts

_MEND = "run `headworks models pull`"


class ModelTokenizer:
    """A folder's tokenizer.json, encoding text from users without control tokens, and templates with them.

    Control tokens are the added tokens other than runs of white space ("<|im_end|>", "<tool_call>"). Safe to
    share between threads.
    """

    def __init__(self, spec: str) -> None:
        """Take the text of tokenizer.json.

        Raises:
            ModelMissing: it is not a tokenizer that this library can run.
        """
        try:
            parsed: dict[str, Any] = json.loads(spec)
            plain = {**parsed, "added_tokens": [t for t in parsed.get("added_tokens", ()) if not t["content"].strip()]}
            self._trusted = Tokenizer.from_str(spec)
            self._plain = Tokenizer.from_str(json.dumps(plain))
            self.has_final_cuts = has_final_cuts(parsed)
        except Exception as error:
            raise ModelMissing(f"the language model's tokenizer.json cannot be read; {_MEND}") from error
        self.composes = parsed.get("normalizer") is not None
        self.control_ids = frozenset(t["id"] for t in parsed.get("added_tokens", ()) if t["content"].strip())

    @classmethod
    def load(cls, folder: Path) -> "ModelTokenizer":
        """Read `folder`/tokenizer.json.

        Raises:
            ModelMissing: no such file, or a damaged one.
        """
        try:
            spec = (folder / "tokenizer.json").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ModelMissing(f"the language model has no tokenizer.json; {_MEND}") from error
        return cls(spec)

    def encode_plain(self, text: str) -> tuple[int, ...]:
        """Encode text from anyone; what spells a control token is encoded as the characters it is made of."""
        encoding = self._plain.encode(text, add_special_tokens=False)
        ids: list[int] = encoding.ids
        if self.control_ids.isdisjoint(ids):
            return tuple(ids)
        # A vocabulary may hold a control token as an ordinary piece, which text can then reach by spelling it.
        safe: list[int] = []
        for token, (start, end) in zip(ids, encoding.offsets, strict=True):
            if token not in self.control_ids:
                safe.append(token)
                continue
            letters = (
                one for letter in text[start:end] for one in self._plain.encode(letter, add_special_tokens=False).ids
            )
            safe.extend(one for one in letters if one not in self.control_ids)
        return tuple(safe)

    def split_trusted(self, text: str) -> tuple[int | str, ...]:
        """Cut text of our own (a chat template) into control tokens, by id, and the plain text between them."""
        encoding = self._trusted.encode(text, add_special_tokens=False)
        pieces: list[int | str] = []
        done = 0
        for token, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
            if token in self.control_ids:
                pieces += [text[done:start], token] if start > done else [token]
                done = end
        return (*pieces, text[done:]) if done < len(text) else tuple(pieces)

    def normalize(self, text: str) -> str:
        """Apply the tokenizer's normalizer."""
        return str(self._plain.normalizer.normalize_str(text)) if self.composes else text

    def pretoken_ends(self, normal: str) -> list[int]:
        """Where the pretokens of normalised text end, ascending, in characters."""
        return [end for _, (_, end) in self._plain.pre_tokenizer.pre_tokenize_str(normal)]

    def decode(self, ids: Sequence[int]) -> str:
        """Text of tokens without control tokens; U+FFFD where bytes make no character (yet)."""
        return str(self._trusted.decode(list(ids), skip_special_tokens=True))


class IncrementalTokenizer:
    """Tokenises one text that arrives in pieces; the tokens together equal tokenising the whole at once.

    Holds back about a word and a half with the pre-tokenizers of `pretokens.py`, and everything until `finish`
    with others. Work is bounded by the characters fed and held, not by the whole text.
    """

    _BORDERS = 2
    """Borders between runs after a pretoken that make its end final."""

    def __init__(self, tokenizer: ModelTokenizer) -> None:
        self._tokenizer = tokenizer
        self._raw: list[str] = []
        self._normal: list[str] = []
        self._held_characters = 0
        self._borders = 0
        self._kind = ""
        self._retry_at = 0

    def feed(self, text: str) -> tuple[int, ...]:
        """Take more text (no lone surrogates) and return the tokens that became certain."""
        if not self._tokenizer.has_final_cuts:
            self._normal.append(text)
            return ()
        self._hold(self._compose(text))
        if self._borders < self._BORDERS or self._held_characters < self._retry_at:
            return ()
        held = "".join(self._normal)
        cut = certain_length(held, self._tokenizer.pretoken_ends(held))
        self._restart(held[cut:])
        # A pretoken of many runs ("/\n/\n") would be looked at again at each feed: wait for twice as much text.
        self._retry_at = 0 if cut else 2 * len(held)
        return self._tokenizer.encode_plain(held[:cut]) if cut else ()

    def finish(self) -> tuple[int, ...]:
        """Return the tokens of what was still held back; after it a new text may begin."""
        rest = "".join(self._normal)
        if self._raw:
            rest += self._tokenizer.normalize("".join(self._raw))
        self._raw = []
        self._retry_at = 0
        self._restart("")
        return self._tokenizer.encode_plain(rest) if rest else ()

    def _compose(self, text: str) -> str:
        """Normalise what no later character composes with, keep the rest raw."""
        if not self._tokenizer.composes:
            return text
        certain = composed_end(text)
        if certain < 0:
            self._raw.append(text)
            return ""
        normal = self._tokenizer.normalize("".join(self._raw) + text[:certain])
        self._raw = [text[certain:]]
        return normal

    def _hold(self, normal: str) -> None:
        if self._borders < self._BORDERS:
            borders, self._kind = count_borders(normal, self._kind, self._BORDERS - self._borders)
            self._borders += borders
        self._held_characters += len(normal)
        self._normal.append(normal)

    def _restart(self, held: str) -> None:
        self._normal, self._held_characters, self._borders, self._kind = [], 0, 0, ""
        self._hold(held)
