"""Graphs on ONNX Runtime."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from headworks.intake.errors import ModelMissing
from headworks.intake.onnx.provider import NoProvider, ProviderChoice
from headworks.intake.onnx.session import Held, Session, open_session
from headworks.intake.onnx.settings import CPU, CUDA, OnnxSettings
from tests.intake.onnx.graphs import NotingSession, write_cache_graph

EMPTY = np.zeros((0, 2), np.float32)
GPU = 3


def rows(first: float, count: int = 1) -> NDArray[np.float32]:
    return np.arange(first, first + 2 * count, dtype=np.float32).reshape(count, 2)


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    return write_cache_graph(tmp_path / "cache.onnx")


@pytest.fixture
def session(graph: Path) -> Session:
    return open_session(graph, OnnxSettings(providers=(CPU,)))


def test_run_returns_every_output_by_name(session: Session) -> None:
    """On the host, in float32."""
    found = session.run({"past": rows(0), "new": rows(2)})
    assert found["total"] == 6
    np.testing.assert_array_equal(found["present"], rows(0, 2))
    assert found["present"].dtype == np.float32


def test_names_and_metadata_are_the_graphs(session: Session) -> None:
    """In the graph's order."""
    assert session.input_names == ("past", "new")
    assert session.output_names == ("total", "present")
    assert session.metadata["sample_rate"] == "16000"


def test_one_session_serves_many_threads(session: Session) -> None:
    """Each gets the answer to its own question, at sizes of its own."""

    def total(count: int) -> float:
        return float(session.run({"past": EMPTY, "new": np.ones((count, 2), np.float32)})["total"])

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(total, range(1, 201))) == [2.0 * count for count in range(1, 201)]


def test_what_a_run_held_is_the_next_ones_input(session: Session) -> None:
    """A cache grows from run to run and never comes to the host."""
    past: Held | NDArray[np.float32] = EMPTY
    for step, expected in enumerate([1.0, 6.0, 15.0]):
        fetched, held = session.run_held({"past": past, "new": rows(2 * step)}, ["total"])
        assert fetched["total"] == expected
        past = held["present"]
    fetched, _ = session.run_held({"past": past, "new": EMPTY}, ["present"])
    np.testing.assert_array_equal(fetched["present"], rows(0, 3))


@pytest.mark.parametrize(("fetch", "held"), [((), {"total", "present"}), (("total", "present"), set())])
def test_outputs_are_fetched_or_held_and_never_both(session: Session, fetch: tuple[str, ...], held: set[str]) -> None:
    """All of them once."""
    fetched, kept = session.run_held({"past": rows(0), "new": rows(2)}, fetch)
    assert set(fetched) == set(fetch)
    assert set(kept) == held


def test_bound_and_plain_runs_agree(session: Session) -> None:
    """The GPU takes the one path, the CPU the other."""
    inputs = {"past": rows(0, 3), "new": rows(9)}
    fetched, _ = session.run_held(inputs, session.output_names)
    for name, value in session.run(inputs).items():
        np.testing.assert_array_equal(fetched[name], value)


def test_view_with_gaps_is_bound_as_what_it_shows(session: Session) -> None:
    """A binding takes bare memory, and a transposed or sliced array has it in another order."""
    fetched, _ = session.run_held({"past": rows(0, 4)[::2], "new": rows(10, 2).T}, ["present"])
    np.testing.assert_array_equal(fetched["present"], [[0, 1], [4, 5], [10, 12], [11, 13]])


def test_cpu_runs_without_binding() -> None:
    """It would only cost copies."""
    noted = NotingSession()
    Session(noted, ProviderChoice(CPU, ""), GPU).run({"past": EMPTY, "new": EMPTY})
    assert noted.plain_runs == 1
    assert not noted.bound


def test_cuda_runs_bound() -> None:
    """Every output is fetched, so every output is bound to the host."""
    noted = NotingSession()
    found = Session(noted, ProviderChoice(CUDA, ""), GPU).run({"past": EMPTY, "new": EMPTY})
    assert noted.plain_runs == 0
    assert noted.bound == {"past": "host", "new": "host", "total": ("cpu", 0), "present": ("cpu", 0)}
    assert set(found) == {"total", "present"}


def test_cuda_holds_outputs_on_its_own_device() -> None:
    """On the GPU of the settings, not the first one."""
    noted = NotingSession()
    Session(noted, ProviderChoice(CUDA, ""), GPU).run_held({"past": EMPTY, "new": EMPTY}, ["total"])
    assert noted.bound["total"] == ("cpu", 0)
    assert noted.bound["present"] == ("cuda", GPU)


def test_cpu_holds_outputs_on_the_host() -> None:
    """Whatever GPU the settings name."""
    noted = NotingSession()
    Session(noted, ProviderChoice(CPU, ""), GPU).run_held({"past": EMPTY, "new": EMPTY}, ["total"])
    assert noted.bound["present"] == ("cpu", 0)


def test_held_input_is_bound_as_it_lies() -> None:
    """Without a way over the host."""
    noted, value = NotingSession(), object()
    Session(noted, ProviderChoice(CUDA, ""), GPU).run_held({"past": Held(value), "new": EMPTY}, ["total"])
    assert noted.bound["past"] is value


def test_default_settings_open_on_a_cpu_build(graph: Path) -> None:
    """And say that the GPU's provider is not in it."""
    choice = open_session(graph, OnnxSettings()).choice
    assert choice.active in (CPU, CUDA)
    assert choice.active == CUDA or CUDA in choice.why


@pytest.mark.parametrize("keeps_memory", [True, False])
def test_memory_is_kept_where_shapes_repeat(graph: Path, keeps_memory: bool) -> None:
    """Where they do not, what is kept is of no use, and grows with every new shape."""
    options = open_session(graph, OnnxSettings(providers=(CPU,)), keeps_memory=keeps_memory).raw.get_session_options()
    assert (options.enable_cpu_mem_arena, options.enable_mem_pattern) == (keeps_memory, keeps_memory)


@pytest.mark.parametrize(("is_spinning", "entry"), [(False, "0"), (True, "1")])
def test_threads_and_spinning_are_the_settings_own(graph: Path, is_spinning: bool, entry: str) -> None:
    """Idle threads that spin take a core from the engine."""
    opened = open_session(graph, OnnxSettings(providers=(CPU,), intra_op_threads=3, is_spinning=is_spinning))
    options = opened.raw.get_session_options()
    assert options.intra_op_num_threads == 3
    assert options.inter_op_num_threads == 1
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == entry


def test_missing_graph_says_what_to_run(tmp_path: Path) -> None:
    """With its whole path."""
    with pytest.raises(ModelMissing, match=r"nowhere\.onnx is not there; run: headworks models pull"):
        open_session(tmp_path / "nowhere.onnx", OnnxSettings(providers=(CPU,)))


@pytest.mark.parametrize("content", [b"", b"not a graph", b"\x08\x08\x12"])
def test_file_that_is_no_graph_says_what_to_run(tmp_path: Path, content: bytes) -> None:
    """ONNX Runtime has an error of its own for each."""
    path = tmp_path / "bad.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelMissing, match=r"bad\.onnx cannot be loaded .* run: headworks models pull"):
        open_session(path, OnnxSettings(providers=(CPU,)))


def test_graph_that_is_cut_short_says_what_to_run(graph: Path) -> None:
    """As after a full disk."""
    graph.write_bytes(graph.read_bytes()[:-20])
    with pytest.raises(ModelMissing, match="cannot be loaded"):
        open_session(graph, OnnxSettings(providers=(CPU,)))


def test_unknown_provider_is_told_before_the_file_is_opened(tmp_path: Path) -> None:
    """The settings are wrong, whatever the store holds."""
    with pytest.raises(NoProvider, match="NoSuchExecutionProvider"):
        open_session(tmp_path / "nowhere.onnx", OnnxSettings(providers=("NoSuchExecutionProvider",)))


REPORTING = """
import sys
from pathlib import Path
from headworks.intake.onnx.session import open_session
from headworks.intake.onnx.settings import CPU, OnnxSettings
open_session(Path(sys.argv[1]), OnnxSettings(providers=(CPU,)))
"""


def test_nothing_is_reported_to_the_makers_of_onnx_runtime(graph: Path, tmp_path: Path) -> None:
    """From 1.29 on it does so on Linux too, with a device id that it leaves in the user's home (onnxruntime#27379)."""
    script = [sys.executable, "-c", REPORTING, str(graph)]
    # It says nothing where these are set, as in CI.
    kept = {key: value for key, value in os.environ.items() if key not in ("CI", "GITHUB_ACTIONS", "XDG_CACHE_HOME")}
    subprocess.run(script, check=True, env=kept | {"HOME": str(tmp_path / "home")})
    assert not (tmp_path / "home").exists()
