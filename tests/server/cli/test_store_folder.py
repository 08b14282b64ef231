"""Which model store a command means."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headworks.server.cli.app import run
from headworks.server.cli.options import STORE_VARIABLE, store_folder


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Settings that name a store."""
    path = tmp_path / "headworks.toml"
    path.write_text(f'[models]\nstore = "{tmp_path}/configured"\n')
    return path


@pytest.mark.parametrize("command", ["list", "verify"])
def test_settings_file_names_the_store(
    command: str, config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gateway with this file would open it, so it is the one to look at."""
    monkeypatch.delenv(STORE_VARIABLE, raising=False)
    run(["models", command, "--config", str(config)])
    assert str(config.parent / "configured") in "".join(capsys.readouterr())


def test_pull_fills_the_store_of_the_settings_file(
    config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen by the sentence that it cannot be written."""
    monkeypatch.delenv(STORE_VARIABLE, raising=False)
    (config.parent / "configured").touch()
    assert run(["models", "pull", "--only", "vad", "--config", str(config)]) == 1
    assert str(config.parent / "configured") in capsys.readouterr().err


def test_variable_wins_over_the_file_and_the_option_over_both(
    config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order of all settings."""
    monkeypatch.setenv(STORE_VARIABLE, str(config.parent / "variable"))
    assert run(["models", "list", "--config", str(config)]) == 0
    assert str(config.parent / "variable") in capsys.readouterr().out
    assert run(["models", "list", "--config", str(config), "--store", str(config.parent / "option")]) == 0
    assert str(config.parent / "option") in capsys.readouterr().out


def test_without_any_it_is_the_default() -> None:
    """In the home folder."""
    assert store_folder(None, None) == Path("~/.headworks/models").expanduser()


HOMELESS = """
import os, sys
from pathlib import Path
from headworks.server.cli.app import run
from headworks.server.cli.checks import load_settings
from headworks.server.cli.mistake import Mistake
run(["models", "list", "--store", "/warm"])  # all is imported while that may be read
load_settings(None, Path("/warm"))
os.environ.pop("HOME", None)
os.setuid(1234567)
if sys.argv[1:]:
    sys.exit(run(sys.argv[1:]))
try:
    print(load_settings(None, None)[0].models.store)
except Mistake as error:
    print(error)
"""


def homeless(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run `headworks`, or read settings, as a user id that has no entry and no HOME."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HEADWORKS_")}
    return subprocess.run(
        [sys.executable, "-c", HOMELESS, *arguments], env=kept | variables, capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_a_user_without_a_home_names_the_store() -> None:
    """OpenShift gives such users; with a store that is set nothing needs a home (vllm#44548)."""
    ended = homeless("models", "list", "--store", "/none")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert homeless(**{STORE_VARIABLE: "/none"}).stdout.splitlines()[-1] == "/none"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_a_user_without_a_home_is_told_to_name_the_store() -> None:
    """One sentence; Python's own is a RuntimeError that names no path."""
    place = "~/.headworks/models is in a home folder, and there is none for this user; name a folder in full"
    ended = homeless("models", "list")
    assert (ended.returncode, ended.stderr) == (2, f"The store {place}, with --store.\n")
    assert homeless().stdout.splitlines()[-1] == f"A setting is wrong: models.store: {place}."


def test_wrong_settings_are_one_sentence(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rather than a pull into another place."""
    config.write_text("[model]\nstore = 'x'\n")
    assert run(["models", "pull", "--config", str(config)]) == 2
    assert "there is no such setting" in capsys.readouterr().err
