"""From trained weights to the folder that ships: ONNX towers proven equal, then quantized; calibrated labels."""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import open_clip
import torch
import torch.nn.functional as functional
from numpy.typing import NDArray

from headworks.intake.build.clip.export import Difference, compare, difference, export, run_graph
from headworks.intake.build.image_model.labels import (
    Floats,
    calibration_error,
    fit_temperature,
    safety_answer,
)
from headworks.intake.build.image_model.learn import MEAN, STD
from headworks.intake.build.image_model.quantize import quantize_weights
from headworks.intake.build.image_model.sets import FONTS, NAMES, SETS, Role
from headworks.intake.build.image_model.validation import Validation
from headworks.intake.build.image_model.words import Tokens
from headworks.intake.image.label_sets import LabelRows, LabelSet, write_label_sets

LEAST_COSINE = 0.999
"""Between a tower in PyTorch and the same in ONNX, before quantization."""
_COMPARED = 8
"""Pictures and names that both sides embed."""


class ExportDiffers(Exception):
    """An exported tower is not the trained one."""


@dataclass(frozen=True, slots=True)
class Released:
    """What was found while releasing."""

    exported: dict[str, Difference]
    """ONNX beside PyTorch, by file."""
    quantized: dict[str, Difference]
    """After quantization beside before, by file."""
    temperatures: dict[str, float]
    calibration: dict[str, tuple[float, float]]
    """Expected calibration error by label set, before and after."""


def release(
    model: "open_clip.CLIP", validation: Validation, tokenizer: Path, labels: Mapping[str, LabelSet], folder: Path
) -> Released:
    """Write image.onnx, text.onnx, tokenizer.json, preprocess.json, labels.json and SHA256SUMS into `folder`.

    Raises:
        ExportDiffers: a tower's cosine to PyTorch's is under `LEAST_COSINE`; the folder is left as it was.
    """
    model.eval().cpu()
    tokens = Tokens(tokenizer, model.context_length)
    scale = float(model.logit_scale.detach().exp())
    with tempfile.TemporaryDirectory() as scratch:
        exported, quantized = _towers(model, validation, Path(scratch), folder)
    temperatures, calibration = _calibrate(model, validation, tokens, labels, scale)
    shutil.copyfile(tokenizer, folder / "tokenizer.json")
    side = int(model.visual.image_size[0])
    _write_json(
        folder / "preprocess.json",
        {
            "size": side,
            "mean": MEAN,
            "std": STD,
            "context_tokens": model.context_length,
            "logit_scale": round(scale, 4),
            "pad_token": 0,
            "resize": "longest",
            "fill": [0, 0, 0],
            "interpolation": "bicubic",
        },
    )
    fitted = {name: replace(one, temperature=temperatures[name]) for name, one in labels.items()}
    (folder / "labels.json").write_text(write_label_sets(fitted), "utf-8")
    _write_sums(folder)
    return Released(exported, quantized, temperatures, calibration)


def attribution() -> str:
    """The sets that were trained on, as a Markdown table."""
    rows = ["| package | version | licence | by | source | read for |", "| --- | --- | --- | --- | --- | --- |"]
    for one in SETS:
        use = {Role.TRAIN: "training", Role.VALIDATE: "picking the checkpoint", Role.TEST: "the test"}[one.role]
        rows.append(f"| `{one.package}` | {one.version} | {one.licence} | {one.author} | {one.home} | {use} |")
    for package, licence, use in [
        (NAMES, "MIT", "names"),
        *((font, "OFL-1.1", "letters in documents") for font in FONTS),
    ]:
        name, version = package.rsplit("@", 1)
        rows.append(f"| `{name}` | {version} | {licence} | see the package | see the package | {use} |")
    return "\n".join(rows) + "\n"


def _towers(
    model: "open_clip.CLIP", validation: Validation, scratch: Path, folder: Path
) -> tuple[dict[str, Difference], dict[str, Difference]]:
    export(model, scratch)
    pixels, names = validation.examples(_COMPARED)
    exported = compare(model, scratch, pixels, names)
    for name, found in exported.items():
        if not found.least_cosine > LEAST_COSINE:
            raise ExportDiffers(f"{name} has cosine {found.least_cosine:.5f} to PyTorch, not over {LEAST_COSINE}")
    folder.mkdir(parents=True, exist_ok=True)
    quantized = {}
    for name, values in (("image.onnx", pixels.numpy()), ("text.onnx", names.numpy())):
        quantize_weights(scratch / name, folder / name)
        quantized[name] = difference(run_graph(folder / name, values), run_graph(scratch / name, values))
    return exported, quantized


@torch.no_grad()
def _calibrate(
    model: "open_clip.CLIP", validation: Validation, tokens: Tokens, labels: Mapping[str, LabelSet], scale: float
) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    emoji, papers = validation.embeddings(model)
    temperatures, errors = {}, {}
    for name, one in labels.items():
        texts = [text for prompts in one.labels.values() for text in prompts]
        found = functional.normalize(model.encode_text(tokens.of(texts)).float(), dim=-1).numpy()
        known = _known(name, list(one.labels), validation)
        pictures = np.concatenate((emoji, papers))[known >= 0]
        cosines = LabelRows(one, found).cosines(pictures)
        answers = known[known >= 0]
        temperatures[name] = fit_temperature(cosines, answers, scale)
        errors[name] = (
            calibration_error(_softmax(cosines * scale), answers),
            calibration_error(_softmax(cosines * (scale / temperatures[name])), answers),
        )
    return temperatures, errors


def _known(name: str, labels: Sequence[str], validation: Validation) -> NDArray[np.int64]:
    """The right label of every validation picture, -1 where the set has no answer."""
    places = {label: place for place, label in enumerate(labels)}
    if name == "content":
        answers = [places.get(emoji, places["other"]) for emoji in validation.emoji_names]
        answers += [places["other"]] * len(validation.paper_kinds)
    elif name == "document":
        answers = [places["drawing"]] * len(validation.emoji_names)
        answers += [places[kind] for kind in validation.paper_kinds]
    else:
        answers = [places[safety_answer(emoji)] for emoji in validation.emoji_names]
        answers += [places["safe"]] * len(validation.paper_kinds)
    return np.array(answers)


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(1, keepdims=True))
    shares: Floats = powers / powers.sum(1, keepdims=True)
    return shares


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", "utf-8")


def _write_sums(folder: Path) -> None:
    names = ("image.onnx", "text.onnx", "tokenizer.json", "preprocess.json", "labels.json")
    lines = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (folder / "SHA256SUMS").write_text("".join(lines), "utf-8")
