"""An OpenCLIP model's two towers as ONNX graphs, and both sides compared. Needs torch.

`image.onnx`: `pixels` (n, 3, size, size) float32, prepared, to `embedding` (n, dimensions).
`text.onnx`: `tokens` (n, context) int64, padded, to `embedding` (n, dimensions).
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

IMAGE, TEXT = "image.onnx", "text.onnx"
OPSET = 17
"""The first with LayerNormalization as one operator."""
_EXAMPLES = 2
"""Batch in which a graph is traced: with 1 some operators would be written for 1 alone."""

Embeddings = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Difference:
    """An exported tower beside PyTorch's, over all examples, both as unit vectors."""

    largest: float
    """Of any component; NaN when either side has one."""
    least_cosine: float
    """Between the two embeddings of one example."""


class _Tower(nn.Module):
    """One of a model's `encode_` methods as a module, which is what the exporter takes."""

    def __init__(self, model: nn.Module, encode: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.model = model
        self._encode = encode

    def forward(self, values: Tensor) -> Tensor:
        """See the module."""
        return self._encode(values).float()


def export(model: Any, into: Path) -> None:
    """Write both graphs, n dynamic, from any model that `open_clip.create_model` makes, in float32 on the CPU.

    Args:
        model: Has `encode_image`, `encode_text`, `visual.image_size` and `context_length`; left in evaluation mode.
            Weights that were trained with QuickGELU (OpenAI's) need it built with `force_quick_gelu=True`, or the
            graphs are faithful to a wrong model.
        into: A folder that is there. Weights over 2 GB lie in files of their own beside the graph.
    """
    model.eval()
    size = image_size(model)
    pixels = torch.zeros(_EXAMPLES, 3, size, size)
    tokens = torch.zeros(_EXAMPLES, context_tokens(model), dtype=torch.int64)
    _export(_Tower(model, model.encode_image), pixels, into / IMAGE, "pixels")
    _export(_Tower(model, model.encode_text), tokens, into / TEXT, "tokens")


def compare(model: Any, folder: Path, pixels: Tensor, tokens: Tensor) -> dict[str, Difference]:
    """Run both sides: ONNX Runtime if it is installed, else ONNX's reference, which takes seconds a picture.

    Args:
        pixels: Prepared pictures, shape (n, 3, size, size); another n than the traced 2 shows that n is dynamic.
        tokens: Tokenized texts, shape (m, context).
    Returns:
        By graph ("image.onnx", "text.onnx").
    """
    model.eval()
    with _plain_attention():
        expected = {IMAGE: model.encode_image(pixels), TEXT: model.encode_text(tokens)}
    given = {IMAGE: pixels, TEXT: tokens}
    return {
        name: difference(run_graph(folder / name, given[name].numpy()), expected[name].float().numpy())
        for name in expected
    }


def difference(found: Embeddings, expected: Embeddings) -> Difference:
    """Measure two sides of shape (n, dimensions)."""
    one, other = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (found, expected))
    return Difference(float(np.abs(one - other).max()), float((one * other).sum(axis=1).min()))


def image_size(model: Any) -> int:
    """Return the side of the square that the image tower takes, pixels.

    Raises:
        ValueError: it takes no square.
    """
    size = model.visual.image_size
    sides = tuple(size) if isinstance(size, (tuple, list)) else (size, size)
    if sides[0] != sides[1]:
        raise ValueError(f"the image tower takes {sides[0]} x {sides[1]} pixels, no square")
    return int(sides[0])


def context_tokens(model: Any) -> int:
    """Return the length of every text."""
    return int(model.context_length)


def run_graph(path: Path, values: NDArray[Any]) -> Embeddings:
    """Run a graph of one input and one output."""
    try:
        from headworks.intake.onnx.session import open_session
        from headworks.intake.onnx.settings import CPU, OnnxSettings
    except ModuleNotFoundError:
        from onnx.reference import ReferenceEvaluator

        evaluator: Any = ReferenceEvaluator(str(path))
        outputs: list[Embeddings] = evaluator.run(None, {evaluator.input_names[0]: values})
        return outputs[0]
    session = open_session(path, OnnxSettings(providers=(CPU,)))
    return session.run({session.input_names[0]: values})[session.output_names[0]]


def _export(tower: nn.Module, example: Tensor, path: Path, name: str) -> None:
    with warnings.catch_warnings(), _plain_attention():
        # The exporter warns of its own age and of shapes that it traces; the result is compared with PyTorch's.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            tower.eval(),
            (example,),
            str(path),
            input_names=[name],
            output_names=["embedding"],
            dynamic_axes={name: {0: "n"}, "embedding": {0: "n"}},
            opset_version=OPSET,
            # The other exporter needs onnxscript, which nothing else here does.
            dynamo=False,
        )


@contextmanager
def _plain_attention() -> Iterator[None]:
    """No gradients, and attention as ordinary operators: PyTorch's fused one has no ONNX form."""
    was_on = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(was_on)
