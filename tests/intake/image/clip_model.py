"""A small random two-tower model in a store of its own, with a PyTorch-free reference."""

import json
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from headworks.intake.models.manifest import MANIFEST_NAME, Manifest, entry_of, scan
from headworks.intake.models.store import ModelKind, ModelStore

SIZE, CONTEXT, DIMENSIONS = 8, 6, 5
LABELS = {
    "content": {"receipt": "a photo of a receipt", "chart": "a chart", "cat": "a cat"},
    "safety": {"harmless": "a harmless photo", "other": "other"},
}
PREPROCESSING = {
    "size": SIZE,
    "mean": [0.5, 0.4, 0.3],
    "std": [0.2, 0.25, 0.3],
    "context_tokens": CONTEXT,
    "logit_scale": 10.0,
    "pad_token": 0,
}
_random = np.random.default_rng(7)
WORDS = {"[pad]": 0, "[start]": 1, "[end]": 2} | {
    word: number + 3
    for number, word in enumerate(
        sorted({w for labels in LABELS.values() for text in labels.values() for w in text.split()})
    )
}
IMAGE_WEIGHTS = _random.normal(size=(3 * SIZE * SIZE, DIMENSIONS)).astype(np.float32)
TEXT_WEIGHTS = _random.normal(size=(len(WORDS), CONTEXT, DIMENSIONS)).astype(np.float32)[:, 0]


def make_store(root: Path) -> ModelStore:
    """Write the model as `ClipModel.load` wants it."""
    folder = root / ModelKind.CLIP / "random"
    folder.mkdir(parents=True)
    (folder / "labels.json").write_text(json.dumps(LABELS))
    (folder / "preprocess.json").write_text(json.dumps(PREPROCESSING))
    _tokenizer().save(str(folder / "tokenizer.json"))
    flat = helper.make_node("Flatten", ["pixels"], ["flat"], axis=1)
    project = helper.make_node("MatMul", ["flat", "weights"], ["embedding"])
    _save(folder / "image.onnx", [flat, project], ("pixels", TensorProto.FLOAT, ["n", 3, SIZE, SIZE]), IMAGE_WEIGHTS)
    gather = helper.make_node("Gather", ["weights", "tokens"], ["gathered"])
    mean = helper.make_node("ReduceMean", ["gathered"], ["embedding"], axes=[1], keepdims=0)
    _save(folder / "text.onnx", [gather, mean], ("tokens", TensorProto.INT64, ["n", CONTEXT]), TEXT_WEIGHTS)
    files = tuple(entry_of(folder, path) for path in scan(folder))
    manifest = Manifest(ModelKind.CLIP, "random", "tests", {}, 1, "2026-01-01T00:00:00+00:00", files)
    (folder / MANIFEST_NAME).write_text(manifest.to_json())
    return ModelStore(root)


def reference_scores(normal: NDArray[np.float32]) -> dict[str, dict[str, float]]:
    """What CLIP's definition gives for a prepared picture, in float64."""
    image = normal.astype(np.float64).reshape(-1) @ IMAGE_WEIGHTS
    scores = {}
    for name, labels in LABELS.items():
        logits = np.array([10.0 * _cosine(image, _text(prompt)) for prompt in labels.values()])
        shares = np.exp(logits) / np.exp(logits).sum()
        scores[name] = dict(zip(labels, shares.tolist(), strict=True))
    return scores


def _text(prompt: str) -> NDArray[np.float64]:
    ids = [1, *(WORDS[word] for word in prompt.split()), 2][:CONTEXT]
    if len(prompt.split()) + 2 > CONTEXT:
        ids[-1] = 2
    ids += [0] * (CONTEXT - len(ids))
    found: NDArray[np.float64] = TEXT_WEIGHTS[ids].astype(np.float64).mean(axis=0)
    return found


def _cosine(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(WordLevel(WORDS, unk_token="[pad]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[start] $A [end]", special_tokens=[("[start]", 1), ("[end]", 2)]
    )
    return tokenizer


def _save(
    path: Path, nodes: list[onnx.NodeProto], given: tuple[str, int, list[int | str]], weights: NDArray[np.float32]
) -> None:
    graph = helper.make_graph(
        nodes,
        path.stem,
        [helper.make_tensor_value_info(*given)],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["n", DIMENSIONS])],
        [numpy_helper.from_array(weights, "weights")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
