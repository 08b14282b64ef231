"""`demo --serve`, which is `make run`: a gateway of its own, with the timing model in the engine's place."""

import asyncio
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from headworks.intake.models.store import ModelStore
from tests.server.cli.conftest import Ended, command

SERVING = re.compile(r"Still serving: gRPC on (127\.0\.0\.1:\d+), HTTP on (localhost:\d+)")
LOG = re.compile(r"its log is (\S+)")
SECONDS = 120.0


def simulated(folder: Path, store: ModelStore, answer_tokens: int = 8) -> Path:
    path = folder / "headworks.toml"
    path.write_text(
        f"log_level = 'error'\n[models]\nstore = '{store.root}'\n[http]\nhost = 'localhost'\n"
        f"[engine]\nkind = 'simulated'\nsimulated.answer_tokens = {answer_tokens}\n"
    )
    return path


def demo(config: Path) -> Ended:
    """Run it in pipes, its log beside its settings."""
    return asyncio.run(command("demo", "--serve", "--config", str(config), TMPDIR=str(config.parent)))


@contextmanager
def demo_on_a_terminal(config: Path) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """Run it with a terminal for all three streams; yields the process and the terminal's other end."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "headworks.server.cli", "demo", "--serve", "--config", str(config)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env=os.environ | {"COLUMNS": "200", "TMPDIR": str(config.parent)},
    )
    os.close(theirs)
    try:
        yield process, ours
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        os.close(ours)


def read_until(terminal: int, pattern: re.Pattern[str]) -> re.Match[str]:
    shown, deadline = "", time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.5)[0]:
            try:
                shown += os.read(terminal, 65536).decode(errors="replace")
            except OSError:
                break
        if (found := pattern.search(shown)) is not None:
            return found
    raise AssertionError(f"{pattern.pattern} was not shown: {shown[-2000:]}")


@pytest.mark.models
def test_demo_without_a_terminal_ends_after_its_turn(tmp_path: Path, store: ModelStore) -> None:
    """CI does not hang; the page holds the demo, and the gateway's log is a file beside it."""
    ended = demo(simulated(tmp_path, store))
    assert ended.code == 0, ended.error
    log = Path(LOG.findall(ended.error)[0]).read_text()
    assert "server.serving" in log
    assert "server.stopped" in log
    assert " server." not in ended.out + ended.error
    assert not SERVING.search(ended.out)


@pytest.mark.models
def test_demo_on_a_terminal_serves_on_until_ctrl_c(tmp_path: Path, store: ModelStore) -> None:
    """Who ran it can go on trying, at the addresses it says; Ctrl-C is its clean end."""
    with demo_on_a_terminal(simulated(tmp_path, store)) as (process, terminal):
        log = Path(read_until(terminal, LOG)[1])
        http = read_until(terminal, SERVING)[2]
        assert httpx.get(f"http://{http}/readyz").status_code == 200
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(SECONDS) == 0
        assert "server.stopped" in log.read_text()


@contextmanager
def a_turn(target: str, tokens: int) -> Iterator["subprocess.Popen[str]"]:
    """Ask, and yield when the answer has begun."""
    command_line = [sys.executable, "-u", "-m", "headworks.server.cli", "ask", "hi", "--json", "--target", target]
    with subprocess.Popen(
        [*command_line, "--max-tokens", str(tokens)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as asking:
        assert asking.stdout is not None
        while '"delta"' not in asking.stdout.readline():
            assert asking.poll() is None
        yield asking


@pytest.mark.models
def test_ctrl_c_lets_a_turn_of_the_demos_gateway_end(tmp_path: Path, store: ModelStore) -> None:
    """A terminal sends it to every process; the gateway must not take it and the demo's own word for two."""
    with demo_on_a_terminal(simulated(tmp_path, store, answer_tokens=3000)) as (process, terminal):
        log = Path(read_until(terminal, LOG)[1])
        with a_turn(read_until(terminal, SERVING)[1], tokens=150) as asking:
            os.killpg(process.pid, signal.SIGINT)
            read_until(terminal, re.compile("Stopping"))
            assert '"finished"' in asking.communicate()[0]
        assert process.wait(SECONDS) == 0
    assert "server.drain_cut" not in log.read_text()


@pytest.mark.models
def test_a_second_ctrl_c_ends_the_demos_gateway_and_its_turns(tmp_path: Path, store: ModelStore) -> None:
    """Whoever presses it twice does not want to wait for an answer of a minute."""
    with demo_on_a_terminal(simulated(tmp_path, store, answer_tokens=3000)) as (process, terminal):
        log = Path(read_until(terminal, LOG)[1])
        with a_turn(read_until(terminal, SERVING)[1], tokens=1000) as asking:
            os.killpg(process.pid, signal.SIGINT)
            read_until(terminal, re.compile("Stopping"))
            os.killpg(process.pid, signal.SIGINT)
            assert '"finished"' not in asking.communicate()[0]
        assert process.wait(SECONDS) == 130
    assert "server.drain_cut turns=1" in log.read_text()


@pytest.mark.models
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_the_demo_stops_its_gateway(
    tmp_path: Path, store: ModelStore, number: signal.Signals
) -> None:
    """A closed terminal or a supervisor must leave no gateway behind."""
    with demo_on_a_terminal(simulated(tmp_path, store)) as (process, terminal):
        log = Path(read_until(terminal, LOG)[1])
        read_until(terminal, SERVING)
        process.send_signal(number)
        assert process.wait(SECONDS) == 128 + number
    assert "server.stopped" in log.read_text()


@pytest.mark.models
def test_demo_without_standard_input_ends_after_its_turn(tmp_path: Path, store: ModelStore) -> None:
    """Whether to serve on is asked of a terminal, and a closed stream is none (gsutil PR#1314)."""
    command_line = [sys.executable, "-m", "headworks.server.cli", "demo", "--serve", "--config"]
    ended = subprocess.run(
        ["sh", "-c", '"$@" <&-', "sh", *command_line, str(simulated(tmp_path, store))],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    assert ended.returncode == 0, ended.stderr
    assert not SERVING.search(ended.stdout)


def test_demo_says_why_its_gateway_did_not_start(tmp_path: Path) -> None:
    """The reason is read from the log, which nobody has to open."""
    ended = demo(simulated(tmp_path, ModelStore(tmp_path)))
    assert ended.code == 1
    assert "no language model" in ended.error.splitlines()[-1]
