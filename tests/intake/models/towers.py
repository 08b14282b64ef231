"""A two-tower model of the shape that open_clip's have, small and random; needs torch alone."""

import torch
from torch import Tensor, nn

SIZE, CONTEXT, WORDS, DIMENSIONS = 8, 6, 30, 12


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
        self.words = nn.Embedding(WORDS, DIMENSIONS)
        self.layer = nn.TransformerEncoderLayer(DIMENSIONS, 2, 16, batch_first=True)

    def encode_image(self, pixels: Tensor) -> Tensor:
        embedding: Tensor = self.visual(pixels)
        return embedding

    def encode_text(self, tokens: Tensor) -> Tensor:
        found = self.layer(self.words(tokens))
        embedding: Tensor = found[torch.arange(found.shape[0]), tokens.argmax(dim=-1)]
        return embedding


def pixels(count: int) -> Tensor:
    return torch.randn(count, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(count))


def tokens(count: int) -> Tensor:
    return torch.randint(0, WORDS, (count, CONTEXT), generator=torch.Generator().manual_seed(count))
