"""openai-whisper's own modules as two ONNX graphs: an encoder, and a decoder with a key/value cache.

`encoder.onnx`: `mel` (batch, mels, frames) float32, frames even and at most 3000, to `cross_key_<layer>` and
`cross_value_<layer>`, each (batch, heads, frames / 2, 64): what every decoder step attends to, computed once.

`decoder.onnx`: `tokens` (batch, new) int64, the encoder's outputs, `past_key_<layer>` and `past_value_<layer>`
(batch, heads, past, 64; past is 0 at first), to `logits` (batch, new, vocabulary) and `present_*` (past + new).
"""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    import whisper

ENCODER, DECODER = "encoder.onnx", "decoder.onnx"
OPSET = 17
"""The first with LayerNormalization as one operator."""


def cross_names(layers: int) -> list[str]:
    """Return the encoder's outputs in order."""
    return [f"cross_{part}_{layer}" for layer in range(layers) for part in ("key", "value")]


def cache_names(prefix: str, layers: int) -> list[str]:
    """Return the decoder's cache inputs ("past") or outputs ("present") in order."""
    return [f"{prefix}_{part}_{layer}" for layer in range(layers) for part in ("key", "value")]


def _split(x: Tensor, heads: int) -> Tensor:
    return x.view(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def _attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Whisper's `qkv_attention` without SDPA: each side is scaled, which keeps small numbers exact."""
    scale = q.shape[-1] ** -0.25
    scores = (q * scale) @ (k * scale).transpose(-1, -2)
    if mask is not None:
        scores = scores + mask
    return (functional.softmax(scores, dim=-1) @ v).transpose(1, 2).flatten(start_dim=2)


class EncoderGraph(nn.Module):
    """`AudioEncoder` for any number of frames, then each decoder layer's cross keys and values."""

    def __init__(self, model: "whisper.Whisper") -> None:
        super().__init__()
        self.encoder = model.encoder
        self.decoder = model.decoder

    def forward(self, mel: Tensor) -> list[Tensor]:
        """See the module."""
        x = functional.gelu(self.encoder.conv1(mel))
        x = functional.gelu(self.encoder.conv2(x)).permute(0, 2, 1)
        x = x + self.encoder.positional_embedding[: x.shape[1]]
        for block in self.encoder.blocks:
            x = block(x)
        x = self.encoder.ln_post(x)
        outputs = []
        for block in self.decoder.blocks:
            cross = block.cross_attn
            outputs += [_split(cross.key(x), cross.n_head), _split(cross.value(x), cross.n_head)]
        return outputs


class DecoderGraph(nn.Module):
    """`TextDecoder`, its cache passed in and out instead of kept by hooks."""

    def __init__(self, model: "whisper.Whisper") -> None:
        super().__init__()
        self.decoder = model.decoder

    def forward(self, tokens: Tensor, *caches: Tensor) -> list[Tensor]:
        """Take tokens, then the cross keys and values, then the past ones; see the module."""
        decoder, layers = self.decoder, len(self.decoder.blocks)
        cross, past = caches[: 2 * layers], caches[2 * layers :]
        offset, new = past[0].shape[2], tokens.shape[1]
        x = decoder.token_embedding(tokens) + decoder.positional_embedding[offset : offset + new]
        mask = decoder.mask[offset : offset + new, : offset + new]
        present: list[Tensor] = []
        for layer, block in enumerate(decoder.blocks):
            normal = block.attn_ln(x)
            heads = block.attn.n_head
            key = torch.cat([past[2 * layer], _split(block.attn.key(normal), heads)], dim=2)
            value = torch.cat([past[2 * layer + 1], _split(block.attn.value(normal), heads)], dim=2)
            present += [key, value]
            x = x + block.attn.out(_attend(_split(block.attn.query(normal), heads), key, value, mask))
            query = _split(block.cross_attn.query(block.cross_attn_ln(x)), heads)
            x = x + block.cross_attn.out(_attend(query, cross[2 * layer], cross[2 * layer + 1], None))
            x = x + block.mlp(block.mlp_ln(x))
        logits = decoder.ln(x) @ decoder.token_embedding.weight.transpose(0, 1)
        return [logits, *present]


@torch.no_grad()
def export(model: "whisper.Whisper", into: Path) -> None:
    """Write both graphs. The TorchScript exporter is asked for, since the other one needs onnxscript at run time."""
    import whisper.model

    layers, heads = model.dims.n_text_layer, model.dims.n_text_head
    width = model.dims.n_text_state // heads
    mel = torch.zeros(1, model.dims.n_mels, 200)
    cross = cross_names(layers)
    with whisper.model.disable_sdpa():
        _export(
            EncoderGraph(model),
            (mel,),
            into / ENCODER,
            inputs={"mel": {0: "batch", 2: "frames"}},
            outputs={name: {0: "batch", 2: "positions"} for name in cross},
        )
    memory = [torch.randn(1, heads, 100, width) for _ in cross]
    past = [torch.randn(1, heads, 3, width) for _ in cross]
    _export(
        DecoderGraph(model),
        (torch.zeros(1, 2, dtype=torch.int64), *memory, *past),
        into / DECODER,
        inputs={
            "tokens": {0: "batch", 1: "new"},
            **{name: {0: "batch", 2: "positions"} for name in cross},
            **{name: {0: "batch", 2: "past"} for name in cache_names("past", layers)},
        },
        outputs={
            "logits": {0: "batch", 1: "new"},
            **{name: {0: "batch", 2: "all"} for name in cache_names("present", layers)},
        },
    )


def _export(
    graph: nn.Module,
    example: tuple[Any, ...],
    path: Path,
    inputs: dict[str, dict[int, str]],
    outputs: dict[str, dict[int, str]],
) -> None:
    with warnings.catch_warnings():
        # The exporter warns of its own age and of shapes that it traces; the result is compared with PyTorch's.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            graph.eval(),
            example,
            str(path),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes={**inputs, **outputs},
            opset_version=OPSET,
            # Folded here, the tied embedding would be stored twice; ONNX Runtime folds it when it loads the graph.
            # Folding would store the vocabulary's matrix a second time, transposed; ONNX Runtime reads it as it is.
            do_constant_folding=False,
            dynamo=False,
        )
