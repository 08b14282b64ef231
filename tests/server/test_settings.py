"""Settings: read once, checked at start, printed without secrets."""

from pathlib import Path

import pytest

from headworks.server.engine.settings import EngineKind
from headworks.server.settings import SettingsError, as_tree, load, unread_variables
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


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("LOG_LEVLE", "LOG_LEVEL"),
        ("RPC__PROT", "RPC__PORT"),
        ("RCP__PORT", "RPC__PORT"),
        ("RPC_PORT", "RPC__PORT"),
        ("GRPC_PORT", "RPC__PORT"),
        ("RPC__PORT_", "RPC__PORT"),
        ("DRAIN_TURNS_SECONDS", "DRAIN__TURNS_SECONDS"),
        ("RPC__PORT__NUMBER", ""),
        ("RPC", ""),
        ("NOTHING__LIKE_IT", ""),
        ("RPC__SERVICE_HOST", ""),
        ("__PORT", ""),
    ],
)
def test_a_misspelt_variable_stops_the_start(name: str, meant: str) -> None:
    """A misspelt limit must not pass for the default; it is named as it was set, and so is what was probably meant."""
    with pytest.raises(SettingsError) as raised:
        load(environment={f"HEADWORKS_{name}": "1"})
    advice = f"; did you mean HEADWORKS_{meant}?" if meant else ""
    assert str(raised.value) == f"the variable HEADWORKS_{name}: there is no such setting{advice}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TARGET", "gateway:50051"),
        ("API_KEY", "secret"),
        ("SERVICE_HOST", "10.0.0.5"),
        ("SERVICE_PORT", "50051"),
        ("SERVICE_PORT_GRPC", "50051"),
        ("PORT", "tcp://10.0.0.5:50051"),
        ("PORT_50051_TCP", "tcp://10.0.0.5:50051"),
        ("PORT_50051_TCP_PROTO", "tcp"),
        ("PORT_50051_TCP_PORT", "50051"),
        ("PORT_50051_TCP_ADDR", "10.0.0.5"),
        ("METRICS_SERVICE_HOST", "10.0.0.5"),
        ("METRICS_SERVICE_PORT_HTTP_METRICS", "9090"),
        ("METRICS_PORT", "udp://10.0.0.5:9090"),
        ("METRICS_PORT_9090_UDP_ADDR", "10.0.0.5"),
        ("RPC_PORT", "tcp://10.0.0.5:50051"),
        ("HTTP_SERVICE_HOST", "fd00::5"),
        ("TELEMETRY_SERVICE_NAME", "/gateway/headworks_telemetry_service"),
        ("DB_NAME", "/gateway/db"),
        ("DB_ENV_PATH__EXTRA", "anything"),
        ("VERSION", "1.2.3"),
    ],
)
def test_variables_that_platforms_set_are_left_alone(name: str, value: str) -> None:
    """Kubernetes and Docker set them for whatever is named "headworks-..." (LLMKube#358, vllm#34199)."""
    variables = {f"HEADWORKS_{name}": value}
    assert load(environment=variables) == load(environment={})
    assert unread_variables(variables) == ()


@pytest.mark.parametrize("name", ["HOME", "IMAGE", "GIT_COMMIT", "PORT", "DB_NAME", ""])
def test_a_variable_that_nothing_reads_is_reported_and_stops_nothing(name: str) -> None:
    """Whoever set it may have meant a setting, or something of their own."""
    variables = {f"HEADWORKS_{name}": "8080", "OTHER": "x"}
    assert load(environment=variables) == load(environment={})
    assert unread_variables(variables) == (f"HEADWORKS_{name}",)


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


def test_every_path_may_begin_with_the_home_folder(tmp_path: Path) -> None:
    """The model store's is not the only one; a home that is not there names the key."""
    path = write(tmp_path, "[policy.regorus]\nfolder = '~/policy'\n[policy.opa]\nca_file = '~/ca.pem'\n")
    settings = load(path, environment={})
    assert settings.policy.regorus.folder == Path.home() / "policy"
    assert settings.policy.opa.ca_file == Path.home() / "ca.pem"
    with pytest.raises(SettingsError, match=r"^policy\.regorus\.folder: ~nosuchuser/policy is in a home folder"):
        load(write(tmp_path, "[policy.regorus]\nfolder = '~nosuchuser/policy'\n"), environment={})


@pytest.mark.parametrize("endpoint", ["http://collector:4317", "https://10.0.0.5:4317/", "HTTP://[::1]:4317", ""])
def test_an_endpoint_with_scheme_host_and_port_is_taken(endpoint: str) -> None:
    """The scheme says whether TLS is meant."""
    assert load(overrides={"telemetry.traces_endpoint": endpoint}, environment={}).telemetry.traces_endpoint == endpoint


@pytest.mark.parametrize("section", ["telemetry", "engine.vllm"])
@pytest.mark.parametrize("endpoint", ["collector:4317", "localhost:4317", "10.0.0.5:4317", "[::1]:4317", "collector"])
def test_an_endpoint_without_a_scheme_stops_the_start(section: str, endpoint: str) -> None:
    """OpenTelemetry would try TLS and lose every span with no more than a line in the log (openllmetry#3480)."""
    with pytest.raises(SettingsError) as raised:
        load(overrides={f"{section}.traces_endpoint": endpoint}, environment={})
    assert str(raised.value).startswith(f"{section}: traces_endpoint {endpoint} does not say whether TLS is meant")
    assert f"write http://{endpoint} for" in str(raised.value)


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://collector",
        "http://collector:4318/v1/traces",
        "http://user:pass@collector:4317",
        "http://collector:many",
        "http://:4317",
        "grpc://collector:4317",
        "http://collector:4317 ",
    ],
)
def test_an_endpoint_that_grpc_would_misread_stops_the_start(endpoint: str) -> None:
    """It takes a host and a port: it would drop a path, guess a port, and take a password for a part of the name."""
    with pytest.raises(SettingsError, match=r"^telemetry: traces_endpoint is http or https, a host and a port"):
        load(overrides={"telemetry.traces_endpoint": endpoint}, environment={})


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


def test_secrets_are_masked(tmp_path: Path) -> None:
    """Printed settings hold no credential, not even a digest (aigw PR#2508)."""
    text = (
        f"[policy.opa]\ntoken = 'sesame'\n"
        f"[[policy.credentials.keys]]\ndigest = '{DIGEST}'\ntenant = 't'\nsubject = 's'\n"
    )
    settings = load(write(tmp_path, text), environment={})
    assert settings.policy.credentials.keys[0].tenant == "t"
    printed = str(as_tree(settings))
    assert "sesame" not in printed
    assert DIGEST not in printed
