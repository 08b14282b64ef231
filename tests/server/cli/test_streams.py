"""Standard streams as shells and supervisors leave them: closed, full, narrow, or a pipe that is to be coloured."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headworks.server.cli.models_commands import _TextPull
from headworks.server.cli.render import out
from headworks.server.turn.steps import Delta
from tests.server.cli.conftest import Serve, command
from tests.server.cli.scripted import EVENTS, FINISHED, ScriptedTurns

COLOUR = re.compile(r"\x1b\[[\d;]*m")


def shell(line: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a line of shell in which "$@" is `headworks` with the arguments."""
    headworks = (sys.executable, "-m", "headworks.server.cli", *arguments)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HEADWORKS_")}
    return subprocess.run(["sh", "-c", line, "sh", *headworks], capture_output=True, text=True, check=False, env=kept)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    ("arguments", "code"), [(("--version",), 0), (("models", "list", "--store", "/none", "--json"), 0), (("ask",), 2)]
)
def test_a_closed_stream_is_no_fault(closed: str, arguments: tuple[str, ...], code: int) -> None:
    """Some supervisors start programs without them (gsutil PR#1314)."""
    ended = shell(f'"$@" {closed}', *arguments)
    assert ended.returncode == code
    assert "Headworks itself failed" not in ended.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_full_disk_is_one_sentence() -> None:
    """Python would fail once more when it ends."""
    ended = shell('"$@" >/dev/full', "models", "list", "--store", "/none")
    assert (ended.returncode, ended.stderr) == (
        1, "No more can be written (No space left on device); make room, and run it again.\n",
    )  # fmt: skip


async def test_a_narrow_encoding_loses_no_answer(serve: Serve) -> None:
    """What it cannot hold is escaped."""
    target = await serve(ScriptedTurns((EVENTS[0], Delta("12 \u20ac", (1,)), FINISHED)))
    ended = await command("ask", "hi", "--target", target, PYTHONIOENCODING="ascii")
    assert ended.code == 0, ended.error
    assert "12 \\u20ac" in ended.out


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "TTY_COMPATIBLE"])
async def test_colour_in_a_pipe_moves_no_cursor(serve: Serve, variable: str) -> None:
    """CI asks for colours in its logs; a display that is drawn over belongs to a screen (pypa/pip#13354)."""
    variables = {variable: "1", "TERM": "xterm-256color"}
    ended = await command("ask", "hi", "--target", await serve(ScriptedTurns()), **variables)
    assert (ended.code, ended.error) == (0, "")
    assert COLOUR.search(ended.out)
    assert "\x1b" not in COLOUR.sub("", ended.out)
    assert "\r" not in ended.out


def test_progress_of_a_pull_is_lines_in_a_coloured_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line a step, each written once."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    with _TextPull(out()) as watching:
        watching.started("vad", "silero", "a package")
        watching.advanced("vad", "silero", "copying", 1, 2)
        watching.advanced("vad", "silero", "copying", 2, 2)
        watching.finished("vad", "silero", 1_000_000)
    lines = COLOUR.sub("", capsys.readouterr().out).splitlines()
    assert [line.partition(": ")[2] for line in lines] == ["building from a package", "copying", "in the store, 1.0 MB"]


IMPORTING = """
import signal, sys
from headworks.server.cli import main
class Interrupter:
    def find_spec(self, name, path=None, target=None):
        if name == "headworks.server.cli.doctor":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupter())
sys.argv = ["headworks", "--version"]
main()
"""


def test_ctrl_c_while_commands_are_imported_is_no_traceback() -> None:
    """It takes a second or two, in which people change their mind."""
    ended = subprocess.run([sys.executable, "-c", IMPORTING], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")
