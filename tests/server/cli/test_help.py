"""What `--help` says, and that it is said at once."""

import subprocess
import sys

import pytest

from headworks.server.cli.app import app, run

COMMANDS = (
    (), ("ask",), ("normalize",), ("demo",), ("serve",), ("doctor",), ("load",),
    ("models",), ("models", "pull"), ("models", "list"), ("models", "verify"),
)  # fmt: skip
HEAVY = (
    "aiohttp", "duckdb", "numpy", "onnxruntime", "opentelemetry", "PIL", "prometheus_client", "regorus",
    "soundfile", "starlette", "strawberry", "tokenizers", "torch", "transformers", "uvicorn", "uvloop", "vllm",
)  # fmt: skip
"""Packages that serving needs and help does not; each takes from a tenth of a second to many seconds to import."""
SCRIPT = """
import sys
from headworks.server.cli.app import run
code = run(sys.argv[1:])
print(sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_explains_itself(capsys: pytest.CaptureFixture[str], path: tuple[str, ...]) -> None:
    """In sentences, on a line of their own: what it does stands before its options."""
    assert run((*path, "--help")) == 0
    printed = capsys.readouterr().out
    assert "Usage" in printed
    assert printed.index(".") < printed.index("--help")


@pytest.mark.parametrize("path", [("--help",), ("serve", "--help"), ("doctor", "--help"), ("--version",)], ids=" ".join)
def test_help_imports_nothing_that_only_serving_needs(path: tuple[str, ...]) -> None:
    """A question about an option is answered at once."""
    ended = subprocess.run([sys.executable, "-c", SCRIPT, *path], capture_output=True, text=True, check=True)
    imported = set(eval(ended.stderr))  # noqa: S307  # our own list
    assert not imported & set(HEAVY)


def test_every_option_has_a_help_that_is_a_sentence() -> None:
    """With its default, or what it is for; nobody should have to try it to find out."""
    import typer

    def options(command: object, path: str) -> list[tuple[str, str]]:
        found = [(f"{path} {one.name}", getattr(one, "help", None) or "") for one in command.params]  # type: ignore[attr-defined]
        for name, inner in getattr(command, "commands", {}).items():
            found += options(inner, f"{path} {name}")
        return found

    helps = options(typer.main.get_command(app), "headworks")
    assert len(helps) > 60
    assert [name for name, help_ in helps if not help_.endswith(".")] == []
