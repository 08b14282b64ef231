"""The commands of a caller: `ask`, `normalize` and `demo`."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack, aclosing
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from headworks.intake.voice.encoding import VoiceForm
from headworks.server.cli import options
from headworks.server.cli.gateway import running_gateway
from headworks.server.cli.inputs import Part, check_read_again, chunks, gather, voice_setup
from headworks.server.cli.mistake import Mistake, mistake_of
from headworks.server.cli.options import DEFAULT_TARGET, Connection
from headworks.server.cli.render import out
from headworks.server.cli.turn_view import TurnView, view_for
from headworks.server.client.client import CallFailed, HeadworksClient
from headworks.server.client.patience import Patience, converse_patiently
from headworks.server.flow.service_class import ServiceClass
from headworks.server.turn.errors import BadRequest
from headworks.server.turn.steps import Setup

TIMEOUT_SECONDS = 120.0
"""How long a turn may take; a small model on two cores needs a few seconds, with a big prompt a minute."""
BIGGER_MODEL = "Qwen/Qwen2.5-1.5B-Instruct"
DEMO_SETUP = Setup(max_output_tokens=96, purpose="demo")
DEMO_REMARK = (
    "The demo: a spoken question, a table of orders and a picture of a receipt. The small default model may answer "
    f"badly; a bigger one does better: headworks models pull --language {BIGGER_MODEL}"
)


def ask(
    question: options.Question = None,
    audio: options.Audio = [],  # noqa: B006  # typer copies it
    image: options.Image = [],  # noqa: B006
    table: options.Table = [],  # noqa: B006
    mic: options.Mic = None,
    model: options.Model = "",
    max_tokens: options.MaxTokens = 0,
    temperature: options.Temperature = 0.0,
    instructions: options.Instructions = "",
    purpose: options.Purpose = "",
    batch: options.Batch = False,
    target: options.Target = DEFAULT_TARGET,
    api_key: options.ApiKey = None,
    ca_file: options.CaFile = None,
    tls: options.Tls = False,
    timeout: options.Timeout = TIMEOUT_SECONDS,
    retries: options.Retries = 0,
    is_json: options.Json = False,
) -> None:
    """Ask a question about files, and see the turn: transcript, labels, profile, verdict, answer and timings.

    Ctrl-C cancels the turn. For example: headworks ask "Which month was best?" --table orders.csv
    """
    parts = gather(question, audio, image, table, mic)
    if retries:
        check_read_again(parts)
    patience = Patience(retries)
    setup = _setup(model, instructions, purpose, voice_setup(parts), max_tokens, temperature, is_batch=batch)
    connection = Connection(target, api_key, ca_file, tls, timeout)
    with view_for(is_json=is_json) as view:
        call(connection, lambda client: _converse(client, setup, parts, view, timeout, patience))


def normalize(
    question: options.Question = None,
    audio: options.Audio = [],  # noqa: B006
    image: options.Image = [],  # noqa: B006
    table: options.Table = [],  # noqa: B006
    mic: options.Mic = None,
    model: options.Model = "",
    instructions: options.Instructions = "",
    purpose: options.Purpose = "",
    target: options.Target = DEFAULT_TARGET,
    api_key: options.ApiKey = None,
    ca_file: options.CaFile = None,
    tls: options.Tls = False,
    timeout: options.Timeout = TIMEOUT_SECONDS,
    is_json: options.Json = False,
) -> None:
    """Show what a model would be given of files: spans with their origin, confidence, tokens and text.

    No model is asked.
    """
    parts = gather(question, audio, image, table, mic)
    setup = _setup(model, instructions, purpose, voice_setup(parts))
    connection = Connection(target, api_key, ca_file, tls, timeout)
    with view_for(is_json=is_json) as view:
        call(connection, lambda client: _normalize(client, setup, parts, view, timeout))


def demo(
    serve: Annotated[
        bool,
        typer.Option(
            "--serve",
            help="Start a gateway for it on free ports; on a terminal it serves on until Ctrl-C. Off by default.",
        ),
    ] = False,
    config: options.Config = None,
    target: options.Target = DEFAULT_TARGET,
    api_key: options.ApiKey = None,
    ca_file: options.CaFile = None,
    tls: options.Tls = False,
    timeout: options.Timeout = TIMEOUT_SECONDS,
    is_json: options.Json = False,
) -> None:
    """Send the demo's turn: a spoken question about a table and a picture.

    It shows first what the model will be given, span by span, then the turn with its verdict, answer and timings.
    --config is read by the gateway that --serve starts.
    """
    with ExitStack() as held:
        gateway = held.enter_context(running_gateway(config, is_quiet=is_json)) if serve else None
        connection = Connection(gateway.target if gateway else target, api_key, ca_file, tls, timeout)
        folder = held.enter_context(as_file(files("headworks.server.cli.demo")))
        parts = demo_parts(folder)
        with view_for(is_json=is_json) as view:
            view.say(DEMO_REMARK)
            call(connection, lambda client: _demo(client, parts, view, timeout))
        if gateway and not is_json and sys.stdin.isatty() and sys.stdout.isatty():
            out().print(f"Still serving: gRPC on {gateway.target}, HTTP on {gateway.http}. Ctrl-C ends it.")
            gateway.wait()
            out().print("Stopping, when its turns have ended; Ctrl-C ends it at once.")


def demo_parts(folder: Path) -> Sequence[Part]:
    """Return the demo's parts: the orders, the receipt and the question."""
    return gather(None, [folder / "question.flac"], [folder / "receipt.png"], [folder / "orders.csv"], None)


def call(connection: Connection, body: Callable[[HeadworksClient], Awaitable[None]]) -> None:
    """Run a call to its end. Ctrl-C cancels the call, and is then raised.

    Raises:
        Mistake: the call failed.
    """

    async def run() -> None:
        async with connection.open() as client:
            await body(client)

    try:
        asyncio.run(run())
    except CallFailed as error:
        raise mistake_of(error, connection.target) from error


def _setup(
    model: str,
    instructions: str,
    purpose: str,
    voice: VoiceForm,
    max_tokens: int = 0,
    temperature: float = 0.0,
    *,
    is_batch: bool = False,
) -> Setup:
    service_class = ServiceClass.BATCH if is_batch else ServiceClass.INTERACTIVE
    try:
        return Setup(model, instructions, purpose, voice, max_tokens, temperature, service_class=service_class)
    except BadRequest as error:
        raise Mistake(str(error)) from error


async def _converse(
    client: HeadworksClient,
    setup: Setup,
    parts: Sequence[Part],
    view: TurnView,
    timeout_seconds: float,
    patience: Patience = Patience(),  # noqa: B008  # it is frozen
) -> None:
    def say_wait(error: CallFailed, seconds: float) -> None:
        what = error.metadata.get("limit", "") or error.reason or error.code
        view.say(f"Refused ({what}); trying again in {seconds:.1f} s, as the server asks.")

    turns = converse_patiently(client, setup, lambda: chunks(parts, view.sent), patience, say_wait, timeout_seconds)
    async with aclosing(turns) as events:
        async for event in events:
            view.show(event)


async def _normalize(
    client: HeadworksClient, setup: Setup, parts: Sequence[Part], view: TurnView, timeout_seconds: float
) -> None:
    view.show_spans(await client.normalize(setup, chunks(parts, view.sent), timeout_seconds))


async def _demo(client: HeadworksClient, parts: Sequence[Part], view: TurnView, timeout_seconds: float) -> None:
    await _normalize(client, DEMO_SETUP, parts, view, timeout_seconds)
    await _converse(client, DEMO_SETUP, parts, view, timeout_seconds)
