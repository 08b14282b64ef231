"""The commands on the model store: `models pull`, `models list` and `models verify`."""

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from headworks.intake.errors import IntakeError
from headworks.intake.models.manifest import Manifest
from headworks.intake.models.store import ModelKind, ModelStore, StoredModel
from headworks.server.cli import options
from headworks.server.cli.as_json import print_json
from headworks.server.cli.mistake import FAILED, Mistake, needs_extra
from headworks.server.cli.render import grid, is_screen, out

PULL_EXTRA = "server,cpu,models"

models = typer.Typer(no_args_is_help=True, help="Build, list and verify the models in the store.")


@models.command()
def pull(
    store: options.Store = None,
    config: options.Config = None,
    language: Annotated[
        str | None,
        typer.Option(
            "--language",
            metavar="ID",
            help="A Hugging Face id, as Qwen/Qwen2.5-1.5B-Instruct; by default the packaged SmolLM2.",
        ),
    ] = None,
    whisper: Annotated[
        str | None,
        typer.Option(
            "--whisper",
            metavar="NAME",
            help="An official Whisper, as base or small.en; by default the packaged tiny.en.",
        ),
    ] = None,
    clip: Annotated[
        str | None,
        typer.Option(
            "--clip",
            metavar="NAME",
            help="An OpenCLIP model for labels, as ViT-L-14 or ViT-L-14:TAG; by default the small one that ships.",
        ),
    ] = None,
    only: Annotated[
        list[ModelKind],
        typer.Option("--only", help="Build this kind alone; may be given several times. By default all."),
    ] = [],  # noqa: B006  # typer copies it
    is_json: options.Json = False,
) -> None:
    """Build the models that are not in the store yet. It may be interrupted and run again.

    Without options all models come out of installed packages, and no network is used.
    """
    with needs_extra(PULL_EXTRA):
        from headworks.intake.build.pull import PullChoice
        from headworks.intake.build.pull import pull as run
    kinds = frozenset(only) if only else frozenset(ModelKind)
    choice = PullChoice(language=language, whisper=whisper, clip=clip, kinds=kinds)
    place = ModelStore(options.store_folder(store, config))
    try:
        with needs_extra(PULL_EXTRA):
            if is_json:
                run(place, choice, _JsonPull())
            else:
                with _TextPull(out()) as watching:
                    run(place, choice, watching)
    except IntakeError as error:
        raise Mistake(str(error), FAILED) from error
    except OSError as error:
        raise Mistake(
            f"The store {place.root} cannot be written ({error.strerror or error}); name another with --store.", FAILED
        ) from error


@models.command("list")
def list_models(store: options.Store = None, config: options.Config = None, is_json: options.Json = False) -> None:
    """List the models in the store with their source and size."""
    place = ModelStore(options.store_folder(store, config))
    found = _reading(place)
    if is_json:
        for model, manifest in found:
            print_json(
                {
                    "kind": model.kind,
                    "name": model.name,
                    "path": model.path,
                    "source": manifest.source,
                    "versions": manifest.versions,
                    "bytes": manifest.total_bytes,
                    "built_at": manifest.built_at,
                    "notes": manifest.notes,
                }
            )
        return
    if not found:
        out().print(f"The store {place.root} is empty; fill it with: headworks models pull", soft_wrap=True)
        return
    table = grid("kind", "name", ">size", "source", "built (UTC)")
    for model, manifest in found:
        built = manifest.built_at[:16].replace("T", " ")
        table.add_row(model.kind.value, model.name, size(manifest.total_bytes), manifest.source, built)
    out().print(table)
    out().print(f"in {place.root}", soft_wrap=True)


@models.command()
def verify(store: options.Store = None, config: options.Config = None, is_json: options.Json = False) -> None:
    """Compare the SHA-256 of every file in the store with its manifest. The exit code is 1 when one differs."""
    place = ModelStore(options.store_folder(store, config))
    _reading(place)
    damaged = checked = 0
    console = out()
    try:
        for check in place.verify():
            checked += 1
            damaged += bool(check.damage)
            if is_json:
                print_json({"kind": check.model.kind, "name": check.model.name, "damage": dict(check.damage)})
                continue
            faults = ", ".join(f"{name} {fault.value}" for name, fault in check.damage)
            console.print(f"{check.model.kind:<10} {check.model.name:<28} {faults or 'whole'}", soft_wrap=True)
    except OSError as error:
        raise Mistake(
            f"The store {place.root} cannot be read ({error.strerror}); check its permissions.", FAILED
        ) from error
    if damaged:
        raise Mistake(
            f"{damaged} of {checked} models are damaged; build them again with: headworks models pull", FAILED
        )
    if not checked:
        raise Mistake(f"The store {place.root} is empty; fill it with: headworks models pull", FAILED)


def size(count: int) -> str:
    """Say how many bytes, in decimal megabytes."""
    return f"{count / 1e6:,.1f} MB"


def _reading(place: ModelStore) -> list[tuple[StoredModel, Manifest]]:
    try:
        return place.models()
    except OSError as error:
        raise Mistake(
            f"The store {place.root} cannot be read ({error.strerror}); check its permissions.", FAILED
        ) from error


class _TextPull:
    """It shows one bar per model on a terminal, and one line per step in a pipe."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._task: TaskID | None = None
        self._last_step = ""
        self._bars = Progress(
            TextColumn("{task.fields[what]:<28}"),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TextColumn("{task.fields[step]}", style="dim"),
            TimeElapsedColumn(),
            console=console,
            disable=not is_screen(console),
        )

    def __enter__(self) -> "_TextPull":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def kept(self, kind: ModelKind, name: str) -> None:
        """See `PullObserver`."""
        self._console.print(f"{kind:<10} {name}: already in the store")

    def started(self, kind: ModelKind, name: str, source: str) -> None:
        """See `PullObserver`."""
        self._last_step = ""
        self._console.print(f"{kind:<10} {name}: building from {source}", soft_wrap=True)
        self._task = self._bars.add_task("", total=None, what=name, step="")

    def advanced(self, kind: ModelKind, name: str, step: str, done: int, total: int) -> None:
        """See `PullObserver`."""
        if is_screen(self._console) and self._task is not None:
            self._bars.update(self._task, completed=done, total=total, step=step)
        elif step != self._last_step:
            self._console.print(f"{kind:<10} {name}: {step}", soft_wrap=True)
        self._last_step = step

    def finished(self, kind: ModelKind, name: str, total_bytes: int) -> None:
        """See `PullObserver`."""
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._console.print(f"{kind:<10} {name}: in the store, {size(total_bytes)}")


class _JsonPull:
    """It prints one JSON object per fact."""

    def kept(self, kind: ModelKind, name: str) -> None:
        """See `PullObserver`."""
        print_json({"event": "kept", "kind": kind, "name": name})

    def started(self, kind: ModelKind, name: str, source: str) -> None:
        """See `PullObserver`."""
        print_json({"event": "started", "kind": kind, "name": name, "source": source})

    def advanced(self, kind: ModelKind, name: str, step: str, done: int, total: int) -> None:
        """See `PullObserver`."""
        print_json({"event": "advanced", "kind": kind, "name": name, "step": step, "done": done, "total": total})

    def finished(self, kind: ModelKind, name: str, total_bytes: int) -> None:
        """See `PullObserver`."""
        print_json({"event": "finished", "kind": kind, "name": name, "bytes": total_bytes})
