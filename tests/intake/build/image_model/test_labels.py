"""Temperatures of label sets, and weights as small integers."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from headworks.intake.build.image_model.labels import calibration_error, fit_temperature
from headworks.intake.build.image_model.quantize import quantize_weights
from headworks.intake.onnx.session import open_session
from headworks.intake.onnx.settings import CPU, OnnxSettings


def _softmax(logits: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


@pytest.mark.parametrize("true_temperature", [0.5, 1.0, 3.0])
def test_the_temperature_of_answers_drawn_from_the_scores_is_found(true_temperature: float) -> None:
    rng = np.random.default_rng(1)
    cosines = rng.uniform(-0.3, 0.4, (4000, 6)).astype(np.float32)
    shares = _softmax(cosines * (20 / true_temperature))
    answers = np.array([rng.choice(6, p=row / row.sum()) for row in shares.astype(np.float64)])
    assert fit_temperature(cosines, answers, 20.0) == pytest.approx(true_temperature, rel=0.12)


def test_scores_that_are_as_sure_as_they_are_right_have_no_error() -> None:
    scores = np.array([[0.75, 0.25]] * 4, np.float32)
    assert calibration_error(scores, np.array([0, 0, 0, 1])) == pytest.approx(0, abs=1e-6)
    assert calibration_error(scores, np.array([1, 1, 1, 1])) == pytest.approx(0.75)


def test_a_quantized_graph_is_a_quarter_and_almost_the_same(tmp_path: Path) -> None:
    """Every weight is off by at most half a step of its channel."""
    rng = np.random.default_rng(0)
    weights = (rng.standard_normal((256, 64)) * np.geomspace(0.01, 10, 64)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 256])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 64])],
        [numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(tmp_path / "whole.onnx"))
    quantize_weights(tmp_path / "whole.onnx", tmp_path / "small.onnx")
    assert (tmp_path / "small.onnx").stat().st_size < 0.3 * (tmp_path / "whole.onnx").stat().st_size
    session = open_session(tmp_path / "small.onnx", OnnxSettings(providers=(CPU,)))
    found = session.run({"x": np.eye(256, dtype=np.float32)})["y"]
    steps = np.abs(weights).max(0) / 127
    assert (np.abs(found - weights) <= steps / 2 + 1e-6).all()
