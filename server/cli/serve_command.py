"""The command `serve`: it runs the gateway."""

from pathlib import Path
from typing import Annotated

import typer

from headworks.server.cli import options
from headworks.server.cli.mistake import Mistake, needs_extra
from headworks.server.engine.settings import EngineKind
from headworks.server.telemetry.settings import LogLevel

SERVER_EXTRA = "server,cpu"


def serve(
    config: options.Config = None,
    host: Annotated[
        str | None,
        typer.Option(
            "--host",
            metavar="ADDRESS",
            help="Address for gRPC; 127.0.0.1 by default. One that is not loopback needs TLS and keys.",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", metavar="PORT", min=0, max=65_535, help="Port for gRPC; 50051 by default, 0 takes a free one."
        ),
    ] = None,
    http_port: Annotated[
        int | None,
        typer.Option(
            "--http-port", metavar="PORT", min=0, max=65_535, help="Port for HTTP; 8080 by default, 0 takes a free one."
        ),
    ] = None,
    engine: Annotated[
        EngineKind | None,
        typer.Option("--engine", help="What answers: vllm, the default, or simulated, a timing model."),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="FOLDER", help="Folder of the model store; ~/.headworks/models by default."),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(
            "--language", metavar="NAME", help="Name of the language model in the store; by default the one built last."
        ),
    ] = None,
    log_level: Annotated[
        LogLevel | None, typer.Option("--log-level", help="The least level that is logged; info by default.")
    ] = None,
    serve_strangers_in_clear: Annotated[
        bool,
        typer.Option(
            "--serve-strangers-in-clear",
            help="Listen on an address that is not loopback without TLS or keys. Off by default.",
        ),
    ] = False,
) -> None:
    """Run the gateway until Ctrl-C or SIGTERM. Without options it serves the embedded models on loopback only.

    Settings come from the defaults, then --config, then variables (HEADWORKS_RPC__PORT sets rpc.port), then these
    options; the last one wins. After the first Ctrl-C running turns may end, a second one cuts them.
    """
    with needs_extra(SERVER_EXTRA):
        from headworks.server.main.gateway import serve as run
        from headworks.server.settings import SettingsError, load
    overrides: dict[str, object] = {
        "rpc.host": host,
        "rpc.port": port,
        "http.port": http_port,
        "engine.kind": engine.value if engine else None,
        "models.store": store,
        "models.language": language,
        "log_level": log_level.value if log_level else None,
        "serve_strangers_in_clear": serve_strangers_in_clear or None,
    }
    try:
        settings = load(config, overrides)
    except SettingsError as error:
        raise Mistake(f"A setting is wrong: {error}.") from error
    with needs_extra(SERVER_EXTRA):
        raise typer.Exit(run(settings))
