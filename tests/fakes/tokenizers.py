"""Small real tokenizers, trained on the spot, in the shapes that served models come in."""

import json
import threading
from typing import Any

from tokenizers import Regex, Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.normalizers import NFC
from tokenizers.pre_tokenizers import ByteLevel, Digits, Metaspace, PreTokenizer, Sequence, Split
from tokenizers.trainers import BpeTrainer

from headworks.intake.prompt.tokenizer import ModelTokenizer

CONTROL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>'"
    " + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
_WORDS = (
    "How many orders did we ship in March? it's, we'll, I'd, THEY'LL said: 2,048 of 12345 -- «été» naïve\n\n\t"
    "e\u0301 日本語。हिन्दी 각 👩‍👩‍👧 [table 1] month | orders\n  <|im_end|> !!! ... /// \r\n   end|>"
    " im_start user\n system\n"
)
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_TAIL = r"\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _TAIL
O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + _TAIL
)


def _split(pattern: str) -> PreTokenizer:
    return Sequence([Split(Regex(pattern), "isolated"), ByteLevel(add_prefix_space=False, use_regex=False)])


PRE_TOKENIZERS: dict[str, PreTokenizer] = {
    "gpt2": ByteLevel(add_prefix_space=False),
    "smollm": Sequence([Digits(individual_digits=True), ByteLevel(add_prefix_space=False)]),
    "llama3": _split(LLAMA3),
    "qwen": _split(LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")),
    "o200k": _split(O200K),
    "metaspace": Metaspace(),
    "unknown": _split(r"\w+|\W"),
}
"""By family; "qwen" also normalises to NFC. The last two have no known cuts."""


def make_spec(family: str = "gpt2", extra_tokens: tuple[dict[str, Any], ...] = ()) -> str:
    """Train a small BPE tokenizer and return its tokenizer.json.

    Args:
        extra_tokens: More entries of `added_tokens`, without ids.
    """
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = PRE_TOKENIZERS[family]
    tokenizer.decoder = ByteLevelDecoder()
    if family == "qwen":
        tokenizer.normalizer = NFC()
    trainer = BpeTrainer(
        vocab_size=600,
        initial_alphabet=ByteLevel.alphabet(),
        special_tokens=list(CONTROL_TOKENS),
        show_progress=False,
    )
    tokenizer.train_from_iterator([_WORDS] * 3, trainer)
    spec = json.loads(tokenizer.to_str())
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    for number, token in enumerate(extra_tokens):
        spec["added_tokens"].append({**flags, **token, "id": tokenizer.get_vocab_size() + number})
    return json.dumps(spec)


class CountingTokenizer(ModelTokenizer):
    """Counts the characters that it normalises or encodes."""

    def __init__(self, spec: str) -> None:
        super().__init__(spec)
        self.characters = 0
        self.characters_at_home = 0
        """On the thread that made the tokenizer alone: in tests, the event loop's."""
        self._home = threading.get_ident()

    def encode_plain(self, text: str) -> tuple[int, ...]:
        self._count(text)
        return super().encode_plain(text)

    def encode_final(self, normal: str, border: int) -> tuple[tuple[int, ...], int]:
        self._count(normal)
        return super().encode_final(normal, border)

    def normalize(self, text: str) -> str:
        self._count(text)
        return super().normalize(text)

    def _count(self, text: str) -> None:
        self.characters += len(text)
        if threading.get_ident() == self._home:
            self.characters_at_home += len(text)
