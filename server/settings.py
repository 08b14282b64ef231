"""All settings, with their defaults. The only place that reads the settings file and the environment."""

import dataclasses
import difflib
import os
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto
from pathlib import Path
from typing import Any, cast, get_type_hints

from pydantic import TypeAdapter, ValidationError

from headworks.graphql.settings import GraphqlSettings
from headworks.intake.errors import NoHome
from headworks.intake.models.store import DEFAULT_ROOT, at_home
from headworks.intake.settings import IntakeSettings
from headworks.policy.identity.settings import CredentialSettings
from headworks.policy.settings import OpaSettings, RegorusSettings
from headworks.policy.trust.settings import TrustSettings
from headworks.server.engine.settings import EngineSettings
from headworks.server.flow.settings import FlowSettings
from headworks.server.http.settings import HttpSettings
from headworks.server.rpc.settings import RpcSettings
from headworks.server.state.settings import StateSettings
from headworks.server.telemetry.settings import LogLevel, TelemetrySettings, require_scheme
from headworks.server.turn.settings import TurnSettings
from headworks.server.visit.loopback import is_loopback

ENVIRONMENT_PREFIX = "HEADWORKS_"
_CLIENT = frozenset({"TARGET", "API_KEY"})
"""Read by the client's commands."""
_NAME = "(?:[A-Z0-9]+_)*"
"""The rest of a service's or a link's name; it is empty for one that is called "headworks"."""
_PLATFORM = re.compile(
    rf"{_NAME}SERVICE_HOST|{_NAME}SERVICE_PORT(_\w+)?|{_NAME}PORT_\d+_(TCP|UDP|SCTP)(_PROTO|_PORT|_ADDR)?"
    rf"|{_NAME}ENV_\w+|VERSION"
)
"""Source: kubernetes, pkg/kubelet/envvars/envvars.go; moby, daemon/links/links.go."""
_PLATFORM_WITH_VALUE = re.compile(rf"{_NAME}PORT=(tcp|udp|sctp)://.*|{_NAME}NAME=/.*", re.DOTALL)
"""A port that is an address, and a link's path; with another value the same name may be somebody's slip."""
_CLOSE = 0.8
"""Of difflib's ratio: one letter wrong or two letters swapped in a name of eight."""
_SECRETS = frozenset({"token", "digest"})


class SettingsError(Exception):
    """The settings file, a variable or a flag is wrong; the sentence says which and how."""


class _Meaning(Enum):
    """What becomes of a variable."""

    SETTING = auto()
    MISSPELT = auto()
    """It stops the start."""
    OTHERS = auto()
    """Some other program set or reads it."""
    UNREAD = auto()
    """Nothing reads it; it is reported."""


class JudgeKind(StrEnum):
    """Adapters of the judge port."""

    REGORUS = "regorus"
    OPA = "opa"


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Which models are served."""

    store: Path = DEFAULT_ROOT
    """Where `headworks models pull` builds them."""
    language: str = ""
    """Name in the store; empty: the one built last."""


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """The settings of the judges, of trust and of who may call."""

    judge: JudgeKind = JudgeKind.REGORUS
    regorus: RegorusSettings = field(default_factory=RegorusSettings)
    opa: OpaSettings = field(default_factory=OpaSettings)
    trust: TrustSettings = field(default_factory=TrustSettings)
    credentials: CredentialSettings = field(default_factory=CredentialSettings)


@dataclass(frozen=True, slots=True)
class DrainSettings:
    """How the server ends on SIGTERM or SIGINT; a second signal ends it at once."""

    grace_seconds: float = 0.5
    """Not ready any more, but new turns are still taken, while load balancers notice."""
    turns_seconds: float = 30.0
    """How long running turns may go on after that."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set. Each section is the settings of the component of that name."""

    models: ModelSettings = field(default_factory=ModelSettings)
    engine: EngineSettings = field(default_factory=EngineSettings)
    policy: PolicySettings = field(default_factory=PolicySettings)
    intake: IntakeSettings = field(default_factory=IntakeSettings)
    flow: FlowSettings = field(default_factory=FlowSettings)
    state: StateSettings = field(default_factory=StateSettings)
    turn: TurnSettings = field(default_factory=TurnSettings)
    rpc: RpcSettings = field(default_factory=RpcSettings)
    http: HttpSettings = field(default_factory=HttpSettings)
    graphql: GraphqlSettings = field(default_factory=GraphqlSettings)
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)
    drain: DrainSettings = field(default_factory=DrainSettings)
    log_level: LogLevel = LogLevel.INFO
    serve_strangers_in_clear: bool = False
    """Listen on an address that is not loopback without TLS or without keys. The name says what it does."""


def load(
    path: Path | None = None,
    overrides: Mapping[str, object] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Read settings: defaults, then the file, then the environment, then `overrides`; the last one wins.

    Args:
        path: TOML; None for no file.
        overrides: By dotted key ("rpc.port"); values of None are left out.
        environment: `HEADWORKS_RPC__PORT=1` sets rpc.port, `HEADWORKS_LOG_LEVEL=debug` log_level; the process's own
            when None. A name that is no setting is misspelt, and stops the start, when it has two underscores in a row
            (as only settings have), names a section, or is close to a setting's name, as RPC_PORT and LOG_LEVLE are.
            What Kubernetes and Docker set for a service or a link named "headworks-..." is left alone.
    Raises:
        SettingsError: unreadable, unknown key, misspelt variable, or a value out of its range or kind.
    """
    tree: dict[str, Any] = _file(path) if path else {}
    _put_variables(tree, os.environ if environment is None else environment)
    for key, override in (overrides or {}).items():
        if override is not None:
            _put(tree, key.split("."), override)
    settings = _validated(tree)
    _check_exposure(settings)
    try:
        require_scheme(settings.engine.vllm.traces_endpoint)
    except ValueError as error:
        raise SettingsError(f"engine.vllm: {error}") from error
    settings = cast(Settings, _at_home(settings))
    may_introspect = settings.graphql.allow_introspection
    if "allow_introspection" not in tree.get("graphql", {}):
        may_introspect = is_loopback(settings.http.host)
    graphql = dataclasses.replace(settings.graphql, allow_introspection=may_introspect)
    return dataclasses.replace(settings, graphql=graphql)


def unread_variables(environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return the variables that begin like ours, but are nobody's: no setting, and no platform is known to set them.

    They stop nothing, because they may mean something to whoever set them; the log and `doctor` name them.
    """
    meanings = _meanings(os.environ if environment is None else environment)
    return tuple(name for name, meaning in meanings.items() if meaning is _Meaning.UNREAD)


def as_tree(settings: Settings) -> dict[str, Any]:
    """Return all settings as plain values for printing, secrets masked."""
    masked: dict[str, Any] = _masked(dataclasses.asdict(settings))
    return masked


def _file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"the settings file {path} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"the settings file {path} is not TOML: {error}") from error


def _put_variables(tree: dict[str, Any], variables: Mapping[str, str]) -> None:
    keys = _keys(Settings)
    for name, meaning in _meanings(variables).items():
        if meaning is _Meaning.SETTING:
            _put(tree, _key_of(name).split("."), variables[name])
        elif meaning is _Meaning.MISSPELT:
            advice = f"; did you mean {meant}?" if (meant := _closest(name, keys)) else ""
            raise SettingsError(f"the variable {name}: there is no such setting{advice}")


def _meanings(variables: Mapping[str, str]) -> dict[str, _Meaning]:
    keys = _keys(Settings)
    ours = {name: value for name, value in variables.items() if name.startswith(ENVIRONMENT_PREFIX)}
    return {name: _meaning_of(name, value, keys) for name, value in ours.items()}


def _keys(section: type, before: str = "") -> frozenset[str]:
    """Return the dotted key of every setting."""
    found: set[str] = set()
    for key, kind in get_type_hints(section).items():
        is_section = isinstance(kind, type) and dataclasses.is_dataclass(kind)
        found |= _keys(kind, f"{before}{key}.") if is_section else {f"{before}{key}"}
    return frozenset(found)


def _key_of(name: str) -> str:
    """Return the dotted key that a variable sets if it is a setting: HEADWORKS_RPC__PORT is rpc.port."""
    return name.removeprefix(ENVIRONMENT_PREFIX).lower().replace("__", ".")


def _meaning_of(name: str, value: str, keys: Collection[str]) -> _Meaning:
    """Say what a variable is.

    Args:
        name: It begins with `ENVIRONMENT_PREFIX`.
        value: Some of the platforms' variables are told by it.
        keys: Of all settings, dotted.
    """
    rest, key = name.removeprefix(ENVIRONMENT_PREFIX), _key_of(name)
    if rest in _CLIENT:
        return _Meaning.OTHERS
    if key in keys:
        return _Meaning.SETTING
    if key.partition(".")[0] in {known.partition(".")[0] for known in keys}:
        return _Meaning.MISSPELT
    if _PLATFORM.fullmatch(rest) or _PLATFORM_WITH_VALUE.fullmatch(f"{rest}={value}"):
        return _Meaning.OTHERS
    if "__" in rest or _closest(name, keys):
        return _Meaning.MISSPELT
    return _Meaning.UNREAD


def _closest(name: str, keys: Collection[str]) -> str:
    """Return the variable that was probably meant, or ""."""
    names = {key.replace(".", "_"): key for key in keys}
    found = difflib.get_close_matches(_key_of(name).replace(".", "_"), names, n=1, cutoff=_CLOSE)
    return ENVIRONMENT_PREFIX + names[found[0]].replace(".", "__").upper() if found else ""


def _put(tree: dict[str, Any], keys: list[str], value: object) -> None:
    for key in keys[:-1]:
        tree = tree.setdefault(key, {})
        if not isinstance(tree, dict):
            raise SettingsError(f"{'.'.join(keys)}: {key} is not a section")
    tree[keys[-1]] = value


def _validated(tree: dict[str, Any]) -> Settings:
    _check_keys(Settings, tree, "")
    try:
        return TypeAdapter(Settings).validate_python(tree)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place, why = ".".join(str(part) for part in first["loc"]), first["msg"].removeprefix("Value error, ")
        raise SettingsError(f"{place}: {why}") from error


def _check_keys(section: type, tree: dict[str, Any], prefix: str) -> None:
    """Pydantic takes unknown keys of dataclasses for none; a misspelt limit must not pass for the default."""
    kinds = get_type_hints(section)
    for key, value in tree.items():
        if key not in kinds:
            raise SettingsError(f"{prefix}{key}: there is no such setting")
        if dataclasses.is_dataclass(kinds[key]) and isinstance(value, dict):
            _check_keys(kinds[key], value, f"{prefix}{key}.")


def _at_home(section: Any, before: str = "") -> Any:
    """Put "~" in full in every path."""
    changed: dict[str, Any] = {}
    for one in dataclasses.fields(section):
        key, value = f"{before}{one.name}", getattr(section, one.name)
        if dataclasses.is_dataclass(value):
            changed[one.name] = _at_home(value, f"{key}.")
        elif isinstance(value, Path):
            try:
                changed[one.name] = at_home(value)
            except NoHome as error:
                raise SettingsError(f"{key}: {error}") from error
    return dataclasses.replace(section, **changed)


def _check_exposure(settings: Settings) -> None:
    """Nothing is served off loopback without TLS or without keys, unless the flag says so."""
    if settings.serve_strangers_in_clear:
        return
    if not is_loopback(settings.rpc.host):
        if settings.rpc.certificate_file is None or settings.rpc.certificate_key_file is None:
            raise SettingsError(f"rpc.host {settings.rpc.host} is not loopback: set rpc.certificate_file and its key")
        known = settings.policy.credentials
        if not (known.keys or known.issuers or known.certificates or known.proxies):
            what = "policy.credentials.keys, or issuers, certificates or proxies"
            raise SettingsError(f"rpc.host {settings.rpc.host} is not loopback: set {what}")
    if not is_loopback(settings.http.host):
        raise SettingsError(f"http.host {settings.http.host} is not loopback: put a TLS proxy before a loopback port")


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: "***" if key in _SECRETS and inner else _masked(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_masked(inner) for inner in value]
    return str(value) if isinstance(value, (Path, StrEnum)) else value
