"""Settings: read once, checked at start, printed without secrets."""

from pathlib import Path

import pytest

from headworks.server.settings import EngineKind, SettingsError, as_tree, load

DIGEST = "a" * 64


def write(folder: Path, text: str) -> Path:
    path = folder / "headworks.toml"
    path.write_text(text)
    return path


def test_later_sources_win(tmp_path: Path) -> None:
    """File, then environment, then flags."""
    path = write(tmp_path, "[rpc]\nport = 1\n[http]\nport = 2\n[engine]\nkind = 'simulated'\n")
    settings = load(path, {"rpc.port": 3, "http.host": None}, {"HEADWORKS_HTTP__PORT": "4", "HEADWORKS_API_KEY": "x"})
    assert (settings.rpc.port, settings.http.port, settings.engine.kind) == (3, 4, EngineKind.SIMULATED)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[rpc]\nprot = 1\n", "rpc.prot: there is no such setting"),
        ("[rpc]\nport = 'many'\n", "rpc.port"),
        ("[engine]\nkind = 'magic'\n", "engine.kind"),
        ("[turn.input]\nidle = 1\n", "turn.input.idle: there is no such setting"),
        ("rpc = [", "is not TOML"),
    ],
)
def test_wrong_settings_are_named(tmp_path: Path, text: str, sentence: str) -> None:
    """A misspelt limit must not pass for the default."""
    with pytest.raises(SettingsError, match=sentence.replace(".", r"\.")):
        load(write(tmp_path, text), environment={})


def test_missing_file_is_one_sentence(tmp_path: Path) -> None:
    """Not a traceback."""
    with pytest.raises(SettingsError, match="cannot be read"):
        load(tmp_path / "none.toml", environment={})


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org"])  # noqa: S104
def test_strangers_are_not_served_in_clear(host: str) -> None:
    """Off loopback TLS and keys are needed, or the flag that says what it does."""
    with pytest.raises(SettingsError, match="not loopback"):
        load(overrides={"rpc.host": host}, environment={})
    with pytest.raises(SettingsError, match="not loopback"):
        load(overrides={"http.host": host}, environment={})
    assert load(overrides={"rpc.host": host, "serve_strangers_in_clear": True}, environment={}).rpc.host == host


def test_p13_secrets_are_masked(tmp_path: Path) -> None:
    """P13: printed settings hold no credential, not even a digest."""
    text = (
        f"[policy.opa]\ntoken = 'sesame'\n"
        f"[[policy.credentials.keys]]\ndigest = '{DIGEST}'\ntenant = 't'\nsubject = 's'\n"
    )
    settings = load(write(tmp_path, text), environment={})
    assert settings.policy.credentials.keys[0].tenant == "t"
    printed = str(as_tree(settings))
    assert "sesame" not in printed
    assert DIGEST not in printed
