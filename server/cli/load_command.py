"""The command `load`: it finds the critical point of a running gateway."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import typer

from headworks.server.cli import load_options, options
from headworks.server.cli.as_json import plain
from headworks.server.cli.load_options import DEFAULTS
from headworks.server.cli.load_view import LoadView
from headworks.server.cli.mistake import INTERRUPTED, Mistake, mistake_of
from headworks.server.cli.options import DEFAULT_TARGET, Connection
from headworks.server.client.client import CallFailed, HeadworksClient
from headworks.server.client.patience import Patience
from headworks.server.clock import SystemClock
from headworks.server.load.caller import PURPOSE, Caller, prompt_chunks
from headworks.server.load.findings import findings_of
from headworks.server.load.gauges import Gauges, HttpGauges, NoGauges
from headworks.server.load.mix import BadMix, Lengths, Mix, Tenant, read_mix
from headworks.server.load.picture import picture
from headworks.server.load.report import Report, level_in_words
from headworks.server.load.session import End, Run, Session
from headworks.server.load.settings import Arrivals, LoadSettings
from headworks.server.turn.steps import Setup
from headworks.server.visit.loopback import is_loopback

RETRIES = 2
"""Of a refused turn by default, as a good client has them."""
CONNECTIONS = 8
"""Of each tenant by default: a thousand calls at once where a server takes 128 on one connection."""
TRIAL_SECONDS = 30.0
"""For the one turn of each tenant that is tried before the ramp; a model that was just started is slow at first."""


def load(
    arrivals: load_options.ArrivalKind = Arrivals.OPEN,
    first: load_options.First = DEFAULTS.first_level,
    last: load_options.Last = DEFAULTS.last_level,
    finer: load_options.Finer = DEFAULTS.finer_steps,
    past: load_options.PastKnee = list(DEFAULTS.past),  # noqa: B006  # typer copies it
    warm_up: load_options.WarmUp = DEFAULTS.warm_up_seconds,
    window: load_options.WindowLength = DEFAULTS.window_seconds,
    deadline: load_options.Deadline = DEFAULTS.deadline_seconds,
    prompt_words: load_options.PromptWords = "32",
    answer_tokens: load_options.AnswerTokens = "64",
    mix_file: load_options.MixFile = None,
    model: options.Model = "",
    retries: load_options.Retries = RETRIES,
    ignore_retry_info: load_options.IgnoreRetryInfo = False,
    seed: load_options.Seed = DEFAULTS.seed,
    max_turns: load_options.MaxTurns = DEFAULTS.max_turns,
    max_seconds: load_options.MaxSeconds = DEFAULTS.max_seconds,
    max_open: load_options.MaxOpen = DEFAULTS.max_open_turns,
    connections: load_options.Connections = CONNECTIONS,
    metrics: load_options.Metrics = None,
    json_file: load_options.JsonFile = None,
    picture_file: load_options.PictureFile = None,
    target: options.Target = DEFAULT_TARGET,
    api_key: options.ApiKey = None,
    ca_file: options.CaFile = None,
    tls: options.Tls = False,
    may_load: load_options.MayLoad = False,
) -> None:
    """Find the load at which a running gateway bends, which limit is met first, and what happens past that.

    Real turns are sent: twice as many with each step, then finer around the knee, then a multiple of the knee, and back
    to it. Latency counts from the moment a turn was due, not from when it was sent. Ctrl-C ends the run with its table.
    """
    if not may_load:
        _check_is_own(target)
    settings = _settings(
        LoadSettings, arrivals=arrivals, first_level=first, last_level=last, finer_steps=finer, past=tuple(past),
        warm_up_seconds=warm_up, window_seconds=window, deadline_seconds=deadline, max_turns=max_turns,
        max_seconds=max_seconds, max_open_turns=max_open, seed=seed,
    )  # fmt: skip
    mix = _mix(mix_file, api_key, prompt_words, answer_tokens, seed)
    for file in (json_file, picture_file):
        _check_writable(file)
    connection = Connection(target, api_key, ca_file, tls, deadline)
    patience = None if ignore_retry_info else Patience(retries)
    view = LoadView(lambda level: level_in_words(arrivals, level))
    probe = _Probe(settings, mix, connection, connections, model, patience, _gauges(metrics))
    loop_name, run = _on_fast_loop(lambda: probe.run(view))
    told = None if patience is None else patience.retries
    report = Report(target, settings, mix.tenants, told, loop_name, run, findings_of(run, settings))
    view.show_report(report)
    _write(json_file, lambda: json.dumps(plain(report.fields()), indent=1) + "\n")
    _write(picture_file, lambda: picture(report))
    if run.end is End.INTERRUPTED:
        raise typer.Exit(INTERRUPTED)


@dataclass(frozen=True, slots=True)
class _Probe:
    """What a run needs, put together but not begun."""

    settings: LoadSettings
    mix: Mix
    connection: Connection
    connections: int
    model: str
    patience: Patience | None
    gauges: Gauges | None

    async def run(self, view: LoadView) -> Run:
        """Try one turn of each tenant, then run. Ctrl-C ends the run, and is not raised.

        Raises:
            Mistake: a tenant's turn does not work at all, or the metrics do not.
        """
        clock = SystemClock()
        async with self._clients() as clients:
            await self._try_all([each[0] for each in clients])
            caller = Caller(clients, self.model, self.settings.deadline_seconds, self.patience, clock)
            session = Session(
                self.settings, self.mix, caller, clock, self.gauges, view.show_moment, view.show_result
            )  # fmt: skip
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, session.stop)
            with view:
                return await session.run()

    @asynccontextmanager
    async def _clients(self) -> AsyncGenerator[list[list[HeadworksClient]], None]:
        async with AsyncExitStack() as stack:
            clients = []
            for tenant in self.mix.tenants:
                connection = replace(self.connection, api_key=tenant.api_key)
                opened = [connection.open(has_own_connection=True) for _ in range(self.connections)]
                clients.append([await stack.enter_async_context(client) for client in opened])
            yield clients

    async def _try_all(self, clients: Sequence[HeadworksClient]) -> None:
        """See that turns work before thousands are sent. A refusal by a limit is no mistake: it will be counted."""
        for number, client in enumerate(clients):
            turn = self.mix.turn_of(number)
            setup = Setup(self.model, purpose=PURPOSE, max_output_tokens=turn.max_output_tokens)
            try:
                async with aclosing(client.converse(setup, prompt_chunks(turn.prompt), TRIAL_SECONDS)) as events:
                    async for _ in events:
                        pass
            except CallFailed as error:
                if error.code != "RESOURCE_EXHAUSTED" or error.retry_after_seconds is None:
                    raise mistake_of(error, self.connection.target) from error
        if self.gauges is not None:
            try:
                await self.gauges.read()
            except NoGauges as error:
                raise Mistake(f"--metrics cannot be read ({error}); check the address, or leave it out.") from error


def _on_fast_loop(main: Callable[[], Any]) -> tuple[str, Run]:
    """Run on uvloop where it is installed; the base install has none."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return "asyncio", asyncio.run(main())
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return "uvloop", runner.run(main())


def _check_is_own(target: str) -> None:
    host = target.rpartition(":")[0]
    if target.startswith("unix:") or is_loopback(host):
        return
    raise Mistake(
        f"{target} is not this machine, and a load can take a service down; if its operator agreed, "
        "say so with --i-may-load-this-address."
    )


def _settings(kind: type[LoadSettings], **values: Any) -> LoadSettings:
    try:
        return kind(**values)
    except ValueError as error:
        raise Mistake(f"This ramp cannot be meant: {error}.") from error


def _mix(file: Path | None, api_key: str | None, prompt_words: str, answer_tokens: str, seed: int) -> Mix:
    """Return the tenants of a file, or the one of the command line.

    Raises:
        Mistake: the file cannot be read, or a length or tenant cannot be meant.
    """
    try:
        if file is not None:
            return Mix(read_mix(file.read_text()), seed)
        lengths = Lengths.parse(prompt_words), Lengths.parse(answer_tokens)
        return Mix((Tenant("all", 1.0, api_key, *lengths),), seed)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise Mistake(f"--mix {file} cannot be read ({why}); check the path.") from error
    except BadMix as error:
        raise Mistake(f"The load's mix is wrong: {error}.") from error


def _gauges(url: str | None) -> Gauges | None:
    if url is None:
        return None
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise Mistake(
            f"--metrics takes an http:// or https:// address, not {url!r}; as in http://127.0.0.1:8080/metrics."
        )
    return HttpGauges(url)


def _check_writable(file: Path | None) -> None:
    """Refuse before minutes are spent on what cannot be kept."""
    if file is None:
        return
    if file.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK):
        raise Mistake(f"{file} cannot be written; name another file.")


def _write(file: Path | None, content: Callable[[], str]) -> None:
    if file is None:
        return
    try:
        file.write_text(content())
    except OSError as error:
        raise Mistake(f"{file} cannot be written ({error.strerror}); name another file.") from error
