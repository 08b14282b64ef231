"""The model's tokenizer: byte-level BPE over the captions' own words."""

from collections.abc import Iterable
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

PAD, START, END = "<pad>", "<start>", "<end>"
"""Ids 0, 1 and 2."""


def train_tokenizer(texts: Iterable[str], vocabulary: int) -> Tokenizer:
    """Learn at most `vocabulary` tokens; every text can be written, whatever its script."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[PAD, START, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{START} $A {END}", special_tokens=[(START, 1), (END, 2)]
    )
    return tokenizer


class Tokens:
    """Texts as the text tower takes them."""

    def __init__(self, path: Path, context: int) -> None:
        """Read a tokenizer.json; `context` is the length every text is padded or cut to."""
        self._tokenizer = Tokenizer.from_file(str(path))
        self._tokenizer.enable_truncation(context)
        self._tokenizer.enable_padding(length=context, pad_id=0, pad_token=PAD)

    def of(self, texts: list[str]) -> torch.Tensor:
        """Token ids, int64, shape (texts, context)."""
        return torch.tensor([one.ids for one in self._tokenizer.encode_batch(texts)])
