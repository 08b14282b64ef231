"""Settings: read once, checked at start, printed without secrets."""

from pathlib import Path

import pytest

from headworks.server.engine.settings import EngineKind
from headworks.server.settings import SettingsError, as_tree, load
from headworks.server.telemetry.settings import LogLevel

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


def test_variables_set_keys_outside_a_section_too() -> None:
    """One underscore or two, a setting is a setting."""
    variables = {"HEADWORKS_LOG_LEVEL": "debug", "HEADWORKS_SERVE_STRANGERS_IN_CLEAR": "true"}
    settings = load(environment=variables)
    assert (settings.log_level, settings.serve_strangers_in_clear) == (LogLevel.DEBUG, True)


@pytest.mark.parametrize("name", ["LOG_LEVLE", "RPC__PROT", "RPC", "RPC__PORT__NUMBER", "RPC_PORT", ""])
def test_unknown_variable_stops_the_start(name: str) -> None:
    """As an unknown key of the file does; it is named as it was set."""
    with pytest.raises(SettingsError, match=f"HEADWORKS_{name}: there is no such setting"):
        load(environment={f"HEADWORKS_{name}": "1"})


def test_variables_that_others_set_are_left_alone() -> None:
    """The client's own, and those of a Kubernetes service that is named like the gateway."""
    names = ("TARGET", "API_KEY", "SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_GRPC", "PORT", "PORT_50051_TCP_ADDR")
    assert load(environment={f"HEADWORKS_{name}": "x" for name in names}) == load(environment={})


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


@pytest.mark.parametrize(
    ("host", "set_to", "is_allowed"),
    [
        ("127.0.0.1", None, True),
        ("10.0.0.1", None, False),
        ("10.0.0.1", True, True),
        ("127.0.0.1", False, False),
    ],
)
def test_schema_is_not_shown_off_loopback_unless_asked_for(host: str, set_to: bool | None, is_allowed: bool) -> None:
    """What a stranger may query they need not be told."""
    overrides = {"http.host": host, "graphql.allow_introspection": set_to, "serve_strangers_in_clear": True}
    assert load(overrides=overrides, environment={}).graphql.allow_introspection is is_allowed


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
