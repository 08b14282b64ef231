"""The import rules of the design, read from the code."""

import ast
import re
import tomllib
from collections.abc import Iterator
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
PROTOBUF = ("google.protobuf", "google.rpc", "headworks.v1", "grpc_health", "grpc_reflection")
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


@pytest.mark.parametrize("folder", FOLDERS)
def test_folders_import_only_what_the_design_allows(folder: str) -> None:
    """Each package can then be used without the others above it."""
    for path in modules(folder):
        for name in imports(path):
            if name.startswith("headworks."):
                assert name.split(".")[1] in MAY_IMPORT[folder], f"{path} imports {name}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_protobuf_stays_in_server_rpc(folder: str) -> None:
    """The contract can then change without the turn."""
    for path in modules(folder):
        if path.is_relative_to(ROOT / "server" / "rpc"):
            continue
        found = [name for name in imports(path) if name.startswith(PROTOBUF)]
        assert not found, f"{path} imports {found}"


def test_only_settings_reads_the_environment() -> None:
    """One file knows every variable; what a library wants set is written, not read, beside its adapter."""
    allowed = {ROOT / "server" / "settings.py", ROOT / "server" / "engine" / "vllm_local.py"}
    for folder in FOLDERS:
        for path in modules(folder):
            if path not in allowed:
                assert not {"os.environ", "os.getenv"} & set(re.findall(r"os\.\w+", path.read_text())), (
                    f"{path} reads the environment"
                )


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
