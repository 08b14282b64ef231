"""The import rules of the design, read from the code."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("intake", "policy", "graphql", "server")
MAY_IMPORT = {
    "intake": {"intake"},
    "policy": {"policy"},
    "graphql": {"graphql", "intake", "policy"},
    "server": {"server", "graphql", "intake", "policy", "v1"},
}
ROOMS = {
    "intake": (
        {"intake"},
        {"settings"},
        {"build"},
        {"voice", "image", "table", "text"},
        {"prompt", "models"},
        {"onnx", "preprocessor"},
        {"finding", "work"},
        {"span", "errors"},
    ),
    "policy": (
        {"regorus", "opa"},
        {"memory"},
        {"settings", "probe", "answer", "question_input"},
        {"bundles", "judge"},
        {"question", "verdict", "reads"},
        {"trust"},
        {"identity", "facts"},
        {"errors", "decision"},
        {"rego"},
    ),
    "graphql": (
        {"sdl"},
        {"execution"},
        {"roots"},
        {"table", "turn"},
        {"context"},
        {"ports", "budget"},
        {"guard", "observer", "encoding"},
        {"settings"},
    ),
    "server": (
        {"cli"},
        {"main"},
        {"settings"},
        {"rpc", "http", "graph", "load"},
        {"client", "telemetry", "status"},
        {"turn"},
        {"flow", "engine", "visit"},
        {"state"},
        {"readiness", "clock"},
    ),
}
"""The rooms of each folder, from the top down. A room imports rooms of lower rows only."""
PROTOBUF = ("google.protobuf", "google.rpc", "headworks.v1", "grpc_health", "grpc_reflection")
KNOW_PROTOBUF = (ROOT / "server" / "rpc", ROOT / "server" / "client")
ADAPTERS = {
    "PIL",
    "aiohttp",
    "duckdb",
    "grpc",
    "numpy",
    "onnxruntime",
    "opentelemetry.sdk",
    "regorus",
    "soundfile",
    "vllm",
}
"""Libraries that adapters import, and that take their time."""
LONGEST_FILE = 400


def modules(folder: str) -> Iterator[Path]:
    return (ROOT / folder).rglob("*.py")


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            yield node.module or ""


def arrows(folder: str) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield (from, to) for each import within a folder, as the parts of both modules' names below it."""
    for path in modules(folder):
        start = path.relative_to(ROOT / folder).with_suffix("").parts
        start = start[:-1] if start[-1] == "__init__" else start
        for name in imports(path):
            parts = tuple(name.split("."))
            if parts[:2] == ("headworks", folder) and len(parts) > 2:
                yield start, parts[2:]


@pytest.mark.parametrize("folder", FOLDERS)
def test_folders_import_only_what_the_design_allows(folder: str) -> None:
    """Each package can then be used without the others above it."""
    for path in modules(folder):
        for name in imports(path):
            if name.startswith("headworks."):
                assert name.split(".")[1] in MAY_IMPORT[folder], f"{path} imports {name}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_rooms_import_only_lower_rooms(folder: str) -> None:
    """An arrow that goes up would let two rooms know each other, and neither could change alone."""
    row = {room: number for number, rooms in enumerate(ROOMS[folder]) for room in rooms}
    for start, end in arrows(folder):
        if not start or start[0] == end[0]:
            continue
        assert row[start[0]] < row[end[0]], f"{folder}/{'/'.join(start)} imports {'.'.join(end)}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_room_has_its_place_in_the_order(folder: str) -> None:
    """A room that nobody placed would be bound by no rule, and one that is gone would mislead a reader."""
    named = set().union(*ROOMS[folder])
    found = {path.relative_to(ROOT / folder).parts[0].removesuffix(".py") for path in modules(folder)} - {"__init__"}
    assert found == named


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_modules_import_each_other_within_a_room(folder: str) -> None:
    """The same at every depth: the files and folders of a room form no circle."""
    graphs: dict[tuple[str, ...], dict[str, set[str]]] = {}
    for start, end in arrows(folder):
        shared = next((i for i, (a, b) in enumerate(zip(start, end, strict=False)) if a != b), None)
        if shared:
            graphs.setdefault(start[:shared], {}).setdefault(start[shared], set()).add(end[shared])
    for room, graph in graphs.items():
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            pytest.fail(f"{folder}/{'/'.join(room)}: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize("folder", FOLDERS)
def test_protobuf_stays_at_the_wire(folder: str) -> None:
    """The contract can then change without the turn."""
    for path in modules(folder):
        if any(path.is_relative_to(room) for room in KNOW_PROTOBUF):
            continue
        found = [name for name in imports(path) if name.startswith(PROTOBUF)]
        assert not found, f"{path} imports {found}"


def test_only_settings_reads_the_environment() -> None:
    """One file knows every variable; what a library wants set is written, not read, beside its adapter."""
    server = ROOT / "server"
    allowed = {server / "settings.py", server / "engine" / "vllm_local.py", server / "cli" / "__init__.py"}
    for folder in FOLDERS:
        for path in modules(folder):
            if path not in allowed:
                assert not {"os.environ", "os.getenv"} & set(re.findall(r"os\.\w+", path.read_text())), (
                    f"{path} reads the environment"
                )


def test_reading_settings_imports_no_adapter() -> None:
    """The command line reads settings before it knows what it needs; an adapter's library takes seconds to import."""
    script = f"import sys, headworks.server.settings; print(sorted({ADAPTERS} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_every_package_is_in_the_wheel() -> None:
    """setuptools is told the packages one by one; a forgotten one is missing only for users."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    listed = set(project["tool"]["setuptools"]["packages"])
    found = {"headworks.v1"}
    for folder in FOLDERS:
        found |= {".".join(("headworks", *path.parent.relative_to(ROOT).parts)) for path in modules(folder)}
    assert listed - {"headworks.policy.rego"} == found - {"headworks.policy.rego"}


def test_graphql_has_no_init_at_its_top() -> None:
    """It would hide graphql-core from strawberry wherever the repository root is on the path."""
    assert not (ROOT / "graphql" / "__init__.py").exists()


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_file_is_longer_than_a_reader_can_hold(folder: str) -> None:
    """A longer one hides a second noun."""
    for path in modules(folder):
        assert len(path.read_text().splitlines()) <= LONGEST_FILE, path
