"""A small random two-tower model in a store of its own, with a PyTorch-free reference."""

from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from headworks.intake.image.label_sets import LabelSet, write_label_sets
from headworks.intake.image.preparation import ClipPreprocessing, write_preprocessing
from headworks.intake.models.manifest import MANIFEST_NAME, Manifest, entry_of, scan
from headworks.intake.models.store import ModelKind, ModelStore

SIZE, CONTEXT, DIMENSIONS = 8, 6, 5
SETS = {
    "content": LabelSet(
        {
            "receipt": ("a photo of a receipt", "a till slip", "receipt"),
            "chart": ("a chart",),
            "cat": ("a cat", "a photo of a cat"),
        }
    ),
    "safety": LabelSet({"safe": ("a harmless photo",), "other": ("other", "a chart")}, 4.0),
}
HOW = ClipPreprocessing(SIZE, (0.5, 0.4, 0.3), (0.2, 0.25, 0.3), CONTEXT, 10.0)
_random = np.random.default_rng(7)
WORDS = {"[pad]": 0, "[start]": 1, "[end]": 2} | {
    word: number + 3
    for number, word in enumerate(
        sorted({w for one in SETS.values() for texts in one.labels.values() for text in texts for w in text.split()})
    )
}
IMAGE_WEIGHTS = _random.normal(size=(3 * SIZE * SIZE, DIMENSIONS)).astype(np.float32)
TEXT_WEIGHTS = _random.normal(size=(len(WORDS), CONTEXT, DIMENSIONS)).astype(np.float32)[:, 0]


def make_store(root: Path) -> ModelStore:
    """Write the model as `ClipModel.load` wants it."""
    folder = root / ModelKind.CLIP / "random"
    folder.mkdir(parents=True)
    (folder / "labels.json").write_text(write_label_sets(SETS))
    (folder / "preprocess.json").write_text(write_preprocessing(HOW))
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
    for name, one in SETS.items():
        scale = HOW.logit_scale / one.temperature
        logits = np.array([scale * _cosine(image, _label(prompts)) for prompts in one.labels.values()])
        shares = np.exp(logits) / np.exp(logits).sum()
        scores[name] = dict(zip(one.labels, shares.tolist(), strict=True))
    return scores


def _label(prompts: tuple[str, ...]) -> NDArray[np.float64]:
    texts = [_text(prompt) for prompt in prompts]
    mean: NDArray[np.float64] = np.mean([text / np.linalg.norm(text) for text in texts], axis=0)
    return mean


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
