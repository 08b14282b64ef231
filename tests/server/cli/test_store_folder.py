"""Which model store a command means."""

from pathlib import Path

import pytest

from headworks.server.cli import run
from headworks.server.cli.options import DEFAULT_STORE, STORE_VARIABLE, store_folder


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
    assert store_folder(None, None) == DEFAULT_STORE.expanduser()


def test_wrong_settings_are_one_sentence(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rather than a pull into another place."""
    config.write_text("[model]\nstore = 'x'\n")
    assert run(["models", "pull", "--config", str(config)]) == 2
    assert "there is no such setting" in capsys.readouterr().err
