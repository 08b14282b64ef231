"""Two towers as ONNX graphs."""

from pathlib import Path

import numpy as np
import pytest
import torch

from headworks.intake.build.clip.export import IMAGE, TEXT, compare, difference, export, image_size, run_graph
from tests.intake.build.clip.towers import CONTEXT, DIMENSIONS, SIZE, Towers, pixels, tokens


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("export")
    export(Towers(), into)
    return into


@pytest.mark.parametrize("count", [1, 2, 5])
def test_graphs_compute_what_the_model_does_for_any_n(folder: Path, count: int) -> None:
    """They are traced with 2 examples."""
    found = compare(Towers(), folder, pixels(count), tokens(count))
    assert set(found) == {IMAGE, TEXT}
    for one in found.values():
        assert one.largest < 1e-5
        assert one.least_cosine > 1 - 1e-5


def test_another_model_differs(folder: Path) -> None:
    """Otherwise the comparison would prove nothing."""
    found = compare(Towers(seed=1), folder, pixels(3), tokens(3))
    assert all(one.largest > 0.1 and one.least_cosine < 0.9 for one in found.values())


def test_shapes_are_the_stores(folder: Path) -> None:
    """float32 pixels and int64 tokens in, (n, dimensions) out."""
    assert run_graph(folder / IMAGE, np.zeros((3, 3, SIZE, SIZE), np.float32)).shape == (3, DIMENSIONS)
    assert run_graph(folder / TEXT, np.zeros((4, CONTEXT), np.int64)).shape == (4, DIMENSIONS)


def test_fast_attention_is_on_again_after_an_export(folder: Path) -> None:
    """The switch is the process's, and others train or serve in it."""
    assert torch.backends.mha.get_fastpath_enabled()


def test_model_in_training_is_exported_as_it_serves(tmp_path: Path) -> None:
    """Dropout must not get into a graph."""
    export(Towers().train(), tmp_path)
    assert compare(Towers(), tmp_path, pixels(2), tokens(2))[IMAGE].largest < 1e-5


def test_difference_ignores_length_and_sees_a_broken_row() -> None:
    """The store's embeddings are used as unit vectors; NaN must never pass for equal."""
    rows = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    assert difference(rows * 7, rows).largest < 1e-6
    broken = rows.copy()
    broken[1, 2] = np.nan
    assert not difference(broken, rows).largest <= 1
    assert not difference(broken, rows).least_cosine >= -1


def test_an_oblong_image_tower_is_refused() -> None:
    """The runtime prepares squares."""
    model = Towers()
    model.visual.image_size = (SIZE, 2 * SIZE)
    with pytest.raises(ValueError, match="8 x 16"):
        image_size(model)
