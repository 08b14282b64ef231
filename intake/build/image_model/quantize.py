"""Weights of an ONNX graph as 8-bit integers with one scale a channel; arithmetic stays in float32."""

from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

_SMALLEST = 2048
"""Elements; smaller tensors stay as they are."""


def quantize_weights(source: Path, target: Path) -> None:
    """Write `source` with its large weights as int8 behind DequantizeLinear, which runtimes fold away at load.

    Per channel and symmetric: a weight is off by at most half a step of its channel's largest / 127.
    """
    model = onnx.load(str(source))
    axes = _channel_axes(model.graph)
    kept, nodes = [], []
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if tensor.name not in axes or values.dtype != np.float32 or values.size < _SMALLEST:
            kept.append(tensor)
            continue
        axis = axes[tensor.name] % values.ndim
        steps = _steps(values, axis)
        whole = np.clip(np.rint(values / _along(steps, axis, values.ndim)), -127, 127).astype(np.int8)
        name = tensor.name
        kept += [numpy_helper.from_array(whole, f"{name}.int8"), numpy_helper.from_array(steps, f"{name}.step")]
        nodes.append(helper.make_node("DequantizeLinear", [f"{name}.int8", f"{name}.step"], [name], axis=axis))
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    every = [*nodes, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(every)
    onnx.checker.check_model(model)
    onnx.save(model, str(target))


def _channel_axes(graph: onnx.GraphProto) -> dict[str, int]:
    """Weights by name, each with the axis of its output channels."""
    axes: dict[str, int] = {}
    for node in graph.node:
        if node.op_type == "Conv":
            axes[node.input[1]] = 0
        elif node.op_type == "Gather":
            axes[node.input[0]] = 0
        elif node.op_type == "MatMul":
            axes[node.input[1]] = -1
        elif node.op_type == "Gemm":
            turned = any(attribute.name == "transB" and attribute.i for attribute in node.attribute)
            axes[node.input[1]] = 0 if turned else 1
    return axes


def _steps(values: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    others = tuple(index for index in range(values.ndim) if index != axis)
    steps: NDArray[np.float32] = np.maximum(np.abs(values).max(axis=others), 1e-12).astype(np.float32) / np.float32(127)
    return steps


def _along(steps: NDArray[np.float32], axis: int, dimensions: int) -> NDArray[np.float32]:
    shape = [1] * dimensions
    shape[axis] = -1
    return steps.reshape(shape)
