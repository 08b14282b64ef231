"""The command `doctor`: it says what is active here and why, and measures what a gateway costs."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from headworks.server.cli import checks, options
from headworks.server.cli.as_json import print_json
from headworks.server.cli.checks import Check, State
from headworks.server.cli.gateway import running_gateway
from headworks.server.cli.memory import memory_of
from headworks.server.cli.mistake import FAILED
from headworks.server.cli.render import grid, out, printable

_STYLES = {State.FINE: "green", State.ABSENT: "yellow", State.ODD: "yellow", State.WRONG: "bold red"}


def doctor(
    config: options.Config = None,
    store: Annotated[
        Path | None,
        typer.Option(
            "--store", metavar="FOLDER", help="Folder of the model store; by default the one in the settings."
        ),
    ] = None,
    bench: Annotated[
        bool,
        typer.Option(
            "--bench",
            help="Start a gateway instead, and measure its memory and the seconds until it serves. Off by default.",
        ),
    ] = False,
    is_json: options.Json = False,
) -> None:
    """Say what is active and why: packages, models, execution provider, policy, engine, ports, settings.

    The exit code is 1 when something is wrong that would keep a gateway from serving.
    """
    if bench:
        _bench(config, is_json=is_json)
        return
    found = []
    table = grid("", "state", "what and why")
    for check in _checks(config, store):
        found.append(check)
        table.add_row(check.subject, Text(check.state.value, _STYLES[check.state]), printable(check.what))
        if is_json:
            print_json({"subject": check.subject, "state": check.state, "what": check.what})
    if not is_json:
        out().print(table)
    if any(check.state is State.WRONG for check in found):
        raise typer.Exit(FAILED)


def _checks(config: Path | None, store: Path | None) -> Iterator[Check]:
    yield from checks.packages()
    if missing := checks.missing_for_serving():
        yield Check("settings", State.ABSENT, f"not looked at: {missing} is not installed")
        for check in checks.store(options.store_folder(store, None)):
            yield replace(check, state=State.ABSENT) if check.state is State.WRONG else check  # a client needs none
        return
    settings, changed = checks.load_settings(config, store)
    yield from checks.settings_file(config, settings, changed)
    yield from checks.store(settings.models.store)
    for subject, looking in (("onnx", checks.onnx(settings)), ("policy", checks.policy(settings))):
        try:
            yield from looking
        except ModuleNotFoundError as error:
            yield Check(subject, State.WRONG, f"{error.name} is not installed; pip install 'headworks[server,cpu]'")
    yield from checks.ports(settings)


def _bench(config: Path | None, *, is_json: bool) -> None:
    with running_gateway(config, is_quiet=is_json) as gateway:
        processes = memory_of(gateway.process.pid)
    if is_json:
        print_json({"seconds_to_serving": round(gateway.seconds_to_serving, 1), "processes": processes})
        return
    table = grid("measured", ">value")
    table.add_row("start to SERVING", f"{gateway.seconds_to_serving:.1f} s")
    for process in processes:
        table.add_row(f"{process.name}, resident", _megabytes(process.resident_bytes))
        table.add_row(f"{process.name}, resident at most", _megabytes(process.peak_bytes))
    out().print(f"Start-up on {config or 'the embedded defaults'}", soft_wrap=True)
    out().print(table)


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"
