"""A two-tower model and a tokenizer of the shape that open_clip's have, small and random; they need torch alone."""

import re
from collections.abc import Sequence

import torch
from tokenizers.pre_tokenizers import ByteLevel
from torch import Tensor, nn

SIZE, CONTEXT, DIMENSIONS = 8, 12, 12
LETTERS = sorted(ByteLevel.alphabet())
VOCABULARY = {
    token: number for number, token in enumerate([*LETTERS, *(f"{one}</w>" for one in LETTERS), "ca", "cat</w>"])
}
VOCABULARY |= {"<start_of_text>": len(VOCABULARY), "<end_of_text>": len(VOCABULARY) + 1}
WORDS = len(VOCABULARY)


class Visual(nn.Module):
    """Patches, then one layer of attention."""

    def __init__(self) -> None:
        super().__init__()
        self.image_size = (SIZE, SIZE)
        self.patches = nn.Conv2d(3, DIMENSIONS, kernel_size=4, stride=4)
        self.layer = nn.TransformerEncoderLayer(DIMENSIONS, 2, 16, batch_first=True)

    def forward(self, pixels: Tensor) -> Tensor:
        mean: Tensor = self.layer(self.patches(pixels).flatten(2).transpose(1, 2)).mean(dim=1)
        return mean


class Towers(nn.Module):
    """Has what `clip_export` asks of a model."""

    def __init__(self, seed: int = 0) -> None:
        torch.manual_seed(seed)
        super().__init__()
        self.context_length = CONTEXT
        self.visual = Visual()
        self.logit_scale = nn.Parameter(torch.tensor(2.0))
        self.words = nn.Embedding(WORDS, DIMENSIONS)
        self.layer = nn.TransformerEncoderLayer(DIMENSIONS, 2, 16, batch_first=True)

    def encode_image(self, pixels: Tensor) -> Tensor:
        embedding: Tensor = self.visual(pixels)
        return embedding

    def encode_text(self, tokens: Tensor) -> Tensor:
        found = self.layer(self.words(tokens))
        embedding: Tensor = found[torch.arange(found.shape[0]), tokens.argmax(dim=-1)]
        return embedding


class LetterTokenizer:
    """open_clip's `SimpleTokenizer` with two merges, for ASCII without digits and apostrophes."""

    def __init__(self) -> None:
        self.encoder = VOCABULARY
        self.bpe_ranks = {("c", "a"): 0, ("ca", "t</w>"): 1}
        self.all_special_ids = [WORDS - 2, WORDS - 1]

    def __call__(self, texts: Sequence[str]) -> Tensor:
        rows = torch.zeros(len(texts), CONTEXT, dtype=torch.int64)
        for row, text in zip(rows, texts, strict=True):
            words = re.findall(r"[a-z]+|[^a-z\s]+", text.lower())
            ids = [WORDS - 2, *(VOCABULARY[one] for word in words for one in _pieces(word)), WORDS - 1]
            ids = [*ids[: CONTEXT - 1], WORDS - 1] if len(ids) > CONTEXT else ids
            row[: len(ids)] = torch.tensor(ids)
        return rows


def _pieces(word: str) -> list[str]:
    end = "cat" if word.endswith("cat") else word[-1]
    stem = word.removesuffix(end)
    return [*("ca" if one == "+" else one for one in stem.replace("ca", "+")), f"{end}</w>"]


def pixels(count: int) -> Tensor:
    return torch.randn(count, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(count))


def tokens(count: int) -> Tensor:
    return torch.randint(0, WORDS, (count, CONTEXT), generator=torch.Generator().manual_seed(count))
