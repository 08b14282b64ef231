"""The served model's tokenizer, which is fed piece by piece and gives tokens once no later text can change them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenizers import Encoding, Tokenizer

from headworks.intake.errors import ModelMissing
from headworks.intake.prompt.pretokens import composed_end, count_borders, final_border, has_final_cuts

LIGHT_CHARACTERS = 4096
"""What may be encoded on the event loop: at 1 to 3 microseconds per character it is some milliseconds of work."""
_MEND = "run `headworks models pull`"


class ModelTokenizer:
    """Encodes as a model's tokenizer.json says: text from users without control tokens, templates with them.

    Control tokens are the added tokens other than runs of white space ("<|im_end|>", "<tool_call>"). Threads may
    share a tokenizer.
    """

    def __init__(self, spec: str) -> None:
        """Take the text of tokenizer.json.

        Raises:
            ModelMissing: it is not a tokenizer that this library can run.
        """
        try:
            parsed: dict[str, Any] = json.loads(spec)
            added = [token for token in parsed.get("added_tokens", ()) if not token["content"].strip()]
            # Post-processors add control tokens, and trim white space from the offsets of tokens.
            plain = {**parsed, "added_tokens": added, "post_processor": None}
            self._trusted = Tokenizer.from_str(spec)
            self._plain = Tokenizer.from_str(json.dumps(plain))
            self.has_final_cuts = has_final_cuts(parsed)
            self.longest_token = max(map(len, self._plain.get_vocab()))
            """In bytes where tokens are made of bytes, else in characters."""
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
        encoding = self._encode(text)
        return self._without_control(encoding, len(encoding), text)

    def encode_final(self, normal: str, border: int) -> tuple[tuple[int, ...], int]:
        """Encode those pretokens of normalised text that end at `border` or before.

        Returns:
            Their tokens, as `encode_plain`, and the number of characters that they stand for.
        """
        encoding = self._encode(normal)
        for count in range(len(encoding) - 1, 0, -1):
            if encoding.token_to_word(count - 1) == encoding.token_to_word(count):
                continue
            (_, end), (start, _) = _characters(encoding, count - 1), _characters(encoding, count)
            # Characters without a token in this vocabulary leave a gap; where in it the border lies is not known.
            if start == end <= border:
                return self._without_control(encoding, count, normal), end
        return (), 0

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

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of tokens, control tokens left out; U+FFFD where bytes make no character (yet)."""
        return str(self._trusted.decode(list(ids), skip_special_tokens=True))

    def _encode(self, text: str) -> Encoding:
        if len(text) <= LIGHT_CHARACTERS:
            return self._plain.encode(text, add_special_tokens=False)
        # Unlike `encode`, this lets Python's other threads run meanwhile, the event loop's among them.
        return self._plain.encode_batch([text], add_special_tokens=False)[0]

    def _without_control(self, encoding: Encoding, count: int, text: str) -> tuple[int, ...]:
        """Return the first `count` tokens of a text, none of them a control token.

        A vocabulary may hold control tokens as ordinary pieces, which text can reach; they are spelt out.
        """
        ids: list[int] = encoding.ids[:count]
        if self.control_ids.isdisjoint(ids):
            return tuple(ids)
        safe: list[int] = []
        for token, (start, end) in zip(ids, encoding.offsets[:count], strict=True):
            if token not in self.control_ids:
                safe.append(token)
                continue
            letters = (
                one for letter in text[start:end] for one in self._plain.encode(letter, add_special_tokens=False).ids
            )
            safe.extend(one for one in letters if one not in self.control_ids)
        return tuple(safe)


def _characters(encoding: Encoding, token: int) -> tuple[int, int]:
    """Return where a token lies in its text. Unlike `Encoding.offsets` this makes no list of all tokens."""
    place = encoding.token_to_chars(token)
    if place is None:
        raise IndexError(token)
    return place


class IncrementalTokenizer:
    """Tokenises one text that arrives in pieces; the tokens together equal tokenising the whole at once.

    Holds back about a word and a half with the pre-tokenizers of `pretokens.py`, and everything until `finish`
    with others. All calls together look at each character a few times. One call costs as much as the characters
    that it is fed and those that are held: a single word may be as long as the sender likes.
    """

    _BORDERS = 2
    """Borders between runs that make what stands before them final."""
    _MOST_COMPOSED = 4
    """NFC makes one character of up to four (UAX #15, "Maximum Expansion Factors": NFD of U+1F82)."""

    def __init__(self, tokenizer: ModelTokenizer) -> None:
        self._tokenizer = tokenizer
        self._raw: list[str] = []
        self._raw_characters = 0
        self._normal: list[str] = []
        self._normal_characters = 0
        self._borders = 0
        self._kind = ""
        self._retry_at = 0

    @property
    def held_characters(self) -> int:
        """Characters that were fed and have no tokens yet."""
        return self._normal_characters + self._raw_characters

    def fewest_tokens(self, more: int = 0) -> int:
        """Return the fewest tokens that the held text can come to, with `more` characters after it.

        Characters without a token in this vocabulary count as if they had one. It is 0 where tokens are certain at
        the end only, as nothing is known of those tokenizers.
        """
        if not self._tokenizer.has_final_cuts:
            return 0
        raw = self._raw_characters + more
        least = self._normal_characters + (raw // self._MOST_COMPOSED if self._tokenizer.composes else raw)
        return -(-least // self._tokenizer.longest_token)

    def feed(self, text: str) -> tuple[int, ...]:
        """Take more text (no lone surrogates) and return the tokens that became certain."""
        if not self._tokenizer.has_final_cuts:
            self._normal.append(text)
            self._normal_characters += len(text)
            return ()
        self._hold(self._compose(text))
        if self._borders < self._BORDERS or self._normal_characters < self._retry_at:
            return ()
        held = "".join(self._normal)
        border = final_border(held)
        ids, cut = self._tokenizer.encode_final(held, border) if border else ((), 0)
        self._restart(held[cut:])
        # A pretoken of many runs ("/\n/\n") would be looked at again at each feed: wait for twice as much text.
        self._retry_at = 0 if cut else 2 * len(held)
        return ids

    def finish(self) -> tuple[int, ...]:
        """Return the tokens of what was still held back; after it a new text may begin."""
        rest = "".join((*self._normal, *self._raw))
        self._keep_raw("")
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
            self._raw_characters += len(text)
            return ""
        normal = self._tokenizer.normalize("".join(self._raw) + text[:certain])
        self._keep_raw(text[certain:])
        return normal

    def _keep_raw(self, text: str) -> None:
        self._raw, self._raw_characters = [text], len(text)

    def _hold(self, normal: str) -> None:
        if self._borders < self._BORDERS:
            borders, self._kind = count_borders(normal, self._kind, self._BORDERS - self._borders)
            self._borders += borders
        self._normal.append(normal)
        self._normal_characters += len(normal)

    def _restart(self, held: str) -> None:
        self._normal, self._normal_characters, self._borders, self._kind = [], 0, 0, ""
        self._hold(held)
