"""The text of an answer, out of its tokens."""

from collections.abc import Sequence

from headworks.intake.prompt.tokenizer import ModelTokenizer


class TextDecoder:
    """Turns answer tokens into text as they come, never half a character. One decoder per answer."""

    _MAX_HELD_TOKENS = 64
    """Tokens cut inside characters may follow each other; a longer row of them is no text."""
    _TOKENS_AT_ONCE = 16
    """Held tokens are decoded again with the tokens that follow them: many of these share that cost."""

    def __init__(self, tokenizer: ModelTokenizer) -> None:
        self._tokenizer = tokenizer
        self._context: list[int] = []
        self._held: list[int] = []
        self._given = 0

    def feed(self, ids: Sequence[int]) -> str:
        """Return the text that these tokens complete; "" while a character is cut in two."""
        step = self._TOKENS_AT_ONCE
        return "".join(self._take(ids[start : start + step]) for start in range(0, len(ids), step))

    def finish(self) -> str:
        """Return what was held back: U+FFFD for a character that never came whole."""
        return self._release(self._text())

    def _take(self, ids: Sequence[int]) -> str:
        self._held.extend(ids)
        text = self._text()
        if not text.endswith("\ufffd") or len(self._held) >= self._MAX_HELD_TOKENS:
            return self._release(text)
        whole = text[self._given : -1]
        self._given += len(whole)
        return whole

    def _text(self) -> str:
        """Return what the held tokens add to the ones before them: alone, some decoders drop a leading space."""
        before = self._tokenizer.decode(self._context)
        return self._tokenizer.decode([*self._context, *self._held])[len(before) :]

    def _release(self, text: str) -> str:
        rest = text[self._given :]
        if self._held:
            self._context, self._held, self._given = self._held, [], 0
        return rest
