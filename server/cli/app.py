"""The commands, and the border at which every mistake becomes one sentence."""

import errno
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, cast

import typer

from headworks.server.cli.doctor import doctor
from headworks.server.cli.load_command import load
from headworks.server.cli.mistake import FAILED, INTERRUPTED, USAGE, Mistake
from headworks.server.cli.models_commands import models
from headworks.server.cli.render import printable
from headworks.server.cli.serve_command import serve
from headworks.server.cli.streams import drop_output
from headworks.server.cli.turn_commands import ask, demo, normalize

_USAGE_ERROR = cast(type[Exception], typer.BadParameter.__mro__[2])
"""This is click's ClickException. Newer versions of typer carry a click of their own, so no import finds it in all."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

app = typer.Typer(
    name="headworks",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (ask, normalize, demo, serve, doctor, load):
    app.command()(command)
app.add_typer(models, name="models")


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        sys.stdout.write(f"headworks {version('headworks')}\n")
        raise typer.Exit


@app.callback()
def headworks(
    is_version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and end."),
    ] = False,
    has_traceback: Annotated[
        bool,
        typer.Option("--traceback", help="Show Python's traceback if Headworks itself fails. Off by default."),
    ] = False,
) -> None:
    """The streaming front door of a language model: voice, images, tables and text over one gRPC stream."""


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code: 0, 1 (it failed), 2 (it was wrong) or 130 (Ctrl-C)."""
    try:
        code = app(list(arguments), prog_name="headworks", standalone_mode=False)
        sys.stdout.flush()
    except Mistake as error:
        return _say(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except BrokenPipeError:
        drop_output()  # whoever read it has had enough
        return FAILED
    except _USAGE_ERROR as error:
        return _say_usage(error)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _FULL:
            drop_output()
            return _say(f"No more can be written ({error.strerror}); make room, and run it again.", FAILED)
        if "--traceback" in arguments:
            raise
        what = f"{type(error).__name__}: {error}"
        return _say(f"Headworks itself failed ({what}); please report it, with what --traceback shows.", FAILED)
    if code == INTERRUPTED:
        return _say("Interrupted; what was running was cancelled.", INTERRUPTED)
    return code if isinstance(code, int) else 0


def _say(sentence: str, code: int) -> int:
    sys.stderr.write(" ".join(printable(sentence).split()) + "\n")
    return code


def _say_usage(error: Exception) -> int:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "headworks"
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stderr.write(str(error) + "\n")
        return USAGE
    message = error.format_message() if isinstance(error, typer.BadParameter) else _message(error)
    return _say(f"{message.rstrip('.')}; see: {path} --help", USAGE)


def _message(error: Exception) -> str:
    return str(getattr(error, "format_message", error.__str__)())
