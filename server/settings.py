"""All settings, with their defaults. The only place that reads the settings file and the environment."""

import dataclasses
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from headworks.graphql.settings import GraphqlSettings
from headworks.intake.settings import IntakeSettings
from headworks.policy.identity.settings import CredentialSettings
from headworks.policy.settings import OpaSettings, RegorusSettings
from headworks.policy.trust.settings import TrustSettings
from headworks.server.engine.settings import EngineSettings
from headworks.server.flow.settings import FlowSettings
from headworks.server.http.settings import HttpSettings
from headworks.server.rpc.settings import RpcSettings
from headworks.server.telemetry.settings import LogLevel, TelemetrySettings
from headworks.server.turn.settings import TurnSettings
from headworks.server.visit.loopback import is_loopback

ENVIRONMENT_PREFIX = "HEADWORKS_"
_NOT_SETTINGS = re.compile(r"HEADWORKS_(TARGET|API_KEY|SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_\w+)?)")
"""What the client's commands read, and what Kubernetes sets in every pod beside a service named "headworks"."""
_SECRETS = frozenset({"token", "digest"})


class SettingsError(Exception):
    """The settings file, a variable or a flag is wrong; the sentence says which and how."""


class JudgeKind(StrEnum):
    """Adapters of the judge port."""

    REGORUS = "regorus"
    OPA = "opa"


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Which models are served."""

    store: Path = Path("~/.headworks/models")
    """Where `headworks models pull` builds them."""
    language: str = ""
    """Name in the store; empty: the one built last."""


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """What decides."""

    judge: JudgeKind = JudgeKind.REGORUS
    regorus: RegorusSettings = field(default_factory=RegorusSettings)
    opa: OpaSettings = field(default_factory=OpaSettings)
    trust: TrustSettings = field(default_factory=TrustSettings)
    credentials: CredentialSettings = field(default_factory=CredentialSettings)


@dataclass(frozen=True, slots=True)
class DrainSettings:
    """How the server ends on SIGTERM."""

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
            when None.
    Raises:
        SettingsError: unreadable, unknown key or variable, or a value out of its range or kind.
    """
    tree: dict[str, Any] = _file(path) if path else {}
    _put_variables(tree, os.environ if environment is None else environment)
    for key, override in (overrides or {}).items():
        if override is not None:
            _put(tree, key.split("."), override)
    settings = _validated(tree)
    _check_exposure(settings)
    models = dataclasses.replace(settings.models, store=settings.models.store.expanduser())
    may_introspect = settings.graphql.allow_introspection
    if "allow_introspection" not in tree.get("graphql", {}):
        may_introspect = is_loopback(settings.http.host)
    graphql = dataclasses.replace(settings.graphql, allow_introspection=may_introspect)
    return dataclasses.replace(settings, models=models, graphql=graphql)


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
    for name, value in variables.items():
        if not name.startswith(ENVIRONMENT_PREFIX) or _NOT_SETTINGS.fullmatch(name):
            continue
        keys = name.removeprefix(ENVIRONMENT_PREFIX).lower().split("__")
        if not _is_setting(keys):
            raise SettingsError(f"the variable {name}: there is no such setting")
        _put(tree, keys, value)


def _is_setting(keys: list[str]) -> bool:
    kind: Any = Settings
    for key in keys:
        kind = get_type_hints(kind).get(key) if dataclasses.is_dataclass(kind) else None
    return kind is not None and not dataclasses.is_dataclass(kind)


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
        raise SettingsError(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}") from error


def _check_keys(section: type, tree: dict[str, Any], prefix: str) -> None:
    """Pydantic takes unknown keys of dataclasses for none; a misspelt limit must not pass for the default."""
    kinds = get_type_hints(section)
    for key, value in tree.items():
        if key not in kinds:
            raise SettingsError(f"{prefix}{key}: there is no such setting")
        if dataclasses.is_dataclass(kinds[key]) and isinstance(value, dict):
            _check_keys(kinds[key], value, f"{prefix}{key}.")


def _check_exposure(settings: Settings) -> None:
    """Nothing is served off loopback without TLS or without keys, unless the flag says so."""
    if settings.serve_strangers_in_clear:
        return
    if not is_loopback(settings.rpc.host):
        if settings.rpc.certificate_file is None or settings.rpc.certificate_key_file is None:
            raise SettingsError(f"rpc.host {settings.rpc.host} is not loopback: set rpc.certificate_file and its key")
        if not settings.policy.credentials.keys:
            raise SettingsError(f"rpc.host {settings.rpc.host} is not loopback: set policy.credentials.keys")
    if not is_loopback(settings.http.host):
        raise SettingsError(f"http.host {settings.http.host} is not loopback: put a TLS proxy before a loopback port")


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: "***" if key in _SECRETS and inner else _masked(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_masked(inner) for inner in value]
    return str(value) if isinstance(value, (Path, StrEnum)) else value
