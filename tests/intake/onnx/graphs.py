"""Small graphs, and an ONNX Runtime session that only notes what is asked of it."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper


def write_cache_graph(path: Path) -> Path:
    """`present` is `past` with `new` behind it, `total` its sum: as a decoder with a cache, in two operators."""
    nodes = [
        helper.make_node("Concat", ["past", "new"], ["present"], axis=0),
        helper.make_node("ReduceSum", ["present"], ["total"], keepdims=0),
    ]
    row = ("n", 2)
    graph = helper.make_graph(
        nodes,
        "cache",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, row) for name in ("past", "new")],
        [
            helper.make_tensor_value_info("total", TensorProto.FLOAT, ()),
            helper.make_tensor_value_info("present", TensorProto.FLOAT, row),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, {"sample_rate": "16000"})
    onnx.save(model, path)
    return path


class NotingSession:
    """Has the graph's names, and returns zeros."""

    def __init__(self) -> None:
        self.plain_runs = 0
        self.bound: dict[str, Any] = {}

    def get_inputs(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(name="past"), SimpleNamespace(name="new")]

    def get_outputs(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(name="total"), SimpleNamespace(name="present")]

    def get_modelmeta(self) -> SimpleNamespace:
        return SimpleNamespace(custom_metadata_map={})

    def run(self, _: None, inputs: Mapping[str, Any]) -> list[Any]:
        self.plain_runs += 1
        return [np.float32(0), np.zeros((1, 2), np.float32)]

    def io_binding(self) -> "NotingBinding":
        return NotingBinding(self.bound)

    def run_with_iobinding(self, binding: "NotingBinding") -> None:
        """Nothing to compute."""


class NotingBinding:
    """Notes where each input and output lies."""

    def __init__(self, bound: dict[str, Any]) -> None:
        self._bound = bound

    def bind_cpu_input(self, name: str, value: Any) -> None:
        self._bound[name] = "host"

    def bind_ortvalue_input(self, name: str, value: Any) -> None:
        self._bound[name] = value

    def bind_output(self, name: str, device: str, number: int = 0) -> None:
        self._bound[name] = (device, number)

    def get_outputs(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(numpy=lambda: np.float32(0)), SimpleNamespace(numpy=lambda: np.zeros((1, 2)))]
