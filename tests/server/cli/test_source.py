"""Files and streams that a command sends: what counts is their bytes, and that they end."""

import asyncio
import os
import pty
import signal
from pathlib import Path

import pytest

from headworks.server.cli.app import run
from headworks.server.cli.source import PIECE_BYTES, path_of
from tests.server.cli.conftest import Serve, command, start_command
from tests.server.cli.scripted import ScriptedTurns

ORDERS = b"month,orders\n" + b"January,412\n" * 20_000
"""More than one piece, and more than a pipe holds."""


def sent(turns: ScriptedTurns, kind: str = "table") -> bytes:
    return b"".join(chunk.data for chunk in turns.parts(kind))


async def test_standard_input_is_a_file_to_send(serve: Serve) -> None:
    """`cat orders.csv | headworks normalize --table -`; a question may follow it."""
    turns = ScriptedTurns()
    arguments = ("normalize", "Which?", "--table", "-", "--target", await serve(turns))
    process = await start_command(arguments, stdin=asyncio.subprocess.PIPE)
    _, error = await process.communicate(ORDERS)
    assert (process.returncode, error) == (0, b"")
    assert sent(turns) == ORDERS
    lasts = [chunk.last for chunk in turns.parts("table")]
    assert lasts == [False] * (len(lasts) - 1) + [True]
    assert max(len(chunk.data) for chunk in turns.parts("table")) <= PIECE_BYTES


async def test_a_substituted_process_is_a_file_to_send(serve: Serve) -> None:
    """`--table <(cat orders.csv)` names a descriptor whose size is 0 (chevron#26)."""
    turns = ScriptedTurns()
    reading, writing = os.pipe()
    arguments = ("normalize", "--table", f"/dev/fd/{reading}", "--target", await serve(turns))
    process = await start_command(arguments, pass_fds=(reading,))
    os.close(reading)
    await asyncio.to_thread(_write_and_close, writing, ORDERS)
    _, error = await process.communicate()
    assert (process.returncode, error) == (0, b"")
    assert sent(turns) == ORDERS


async def test_two_named_pipes_are_read_in_the_order_in_which_they_are_sent(serve: Serve, tmp_path: Path) -> None:
    """Whoever writes them one after the other is never waited for out of order."""
    turns = ScriptedTurns()
    table, image = tmp_path / "table", tmp_path / "image"
    os.mkfifo(table)
    os.mkfifo(image)
    target = await serve(turns)
    process = await start_command(("ask", "--image", str(image), "--table", str(table), "--target", target))
    await asyncio.to_thread(table.write_bytes, ORDERS)
    await asyncio.to_thread(image.write_bytes, b"picture")
    _, error = await process.communicate()
    assert (process.returncode, error) == (0, b"")
    assert (sent(turns), sent(turns, "image")) == (ORDERS, b"picture")


async def test_a_stream_is_sent_while_it_is_written(serve: Serve) -> None:
    """A recording that goes on is heard while it goes on."""
    turns = ScriptedTurns()
    process = await start_command(
        ("ask", "--audio", "-", "--target", await serve(turns)), stdin=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    while not turns.parts("audio"):
        process.stdin.write(b"sound")
        await process.stdin.drain()
        await asyncio.sleep(0.01)
    _, error = await process.communicate(b"")
    assert (process.returncode, error) == (0, b"")


async def test_ctrl_c_ends_a_stream_that_says_nothing(serve: Serve, tmp_path: Path) -> None:
    """A named pipe that nobody writes to is waited for until somebody has enough of it."""
    turns = ScriptedTurns()
    os.mkfifo(tmp_path / "silent")
    process = await start_command(("ask", "--table", str(tmp_path / "silent"), "--target", await serve(turns)))
    await turns.has_setup.wait()
    process.send_signal(signal.SIGINT)
    _, error = await process.communicate()
    assert (process.returncode, error.splitlines()) == (130, [b"Interrupted; what was running was cancelled."])


async def test_an_empty_stream_is_one_sentence(serve: Serve) -> None:
    """What was to fill it has failed."""
    ended = await command("ask", "--table", "-", "--target", await serve(ScriptedTurns()))
    assert (ended.code, ended.error) == (2, "standard input is empty; pipe something into it.\n")


async def test_a_picture_piped_in_as_a_table_is_one_sentence(serve: Serve) -> None:
    """A stream's bytes are looked at when they come."""
    target = await serve(ScriptedTurns())
    process = await start_command(("ask", "--table", "-", "--target", target), stdin=asyncio.subprocess.PIPE)
    _, error = await process.communicate(b"\x89PNG\r\n\x1a\n")
    assert (process.returncode, error) == (
        2, b"standard input is a PNG picture; give it with --image, not --table.\n",
    )  # fmt: skip


async def test_standard_input_is_named_once() -> None:
    """The second name would find nothing."""
    ended = await command("ask", "--table", "-", "--image", "-")
    assert (ended.code, ended.error) == (2, "standard input can be read only once; name it once.\n")


async def test_standard_input_that_is_a_terminal_is_one_sentence() -> None:
    """Nobody types a table; the command must not sit there and wait for one."""
    ours, theirs = pty.openpty()
    process = await start_command(("ask", "--table", "-"), stdin=theirs)
    os.close(theirs)
    _, error = await process.communicate()
    os.close(ours)
    assert process.returncode == 2
    assert b"pipe a file into it" in error


def test_a_file_named_with_a_dash_is_a_file() -> None:
    """As everywhere, `./-` is a name and `-` is not."""
    assert str(path_of("./-")) == "-"
    assert path_of("-") != path_of("./-")


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("--image", "a.jfif"),
        ("--image", "a.jpe"),
        ("--image", "PHOTO.JPG"),
        ("--table", "a.tsv"),
        ("--table", "a.csv.1"),
        ("--table", "orders"),
        ("--audio", "a.wave"),
        ("--audio", "a.WAV"),
    ],
)
async def test_a_name_decides_nothing(serve: Serve, tmp_path: Path, option: str, name: str) -> None:
    """The server reads by bytes, so every name goes there (opensource-socialnetwork PR#1984)."""
    turns = ScriptedTurns()
    (tmp_path / name).write_bytes(b"bytes")
    ended = await command("ask", option, str(tmp_path / name), "--target", await serve(turns))
    assert (ended.code, ended.error) == (0, "")
    assert sent(turns, option.removeprefix("--")) == b"bytes"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs a file that says 0 bytes and holds some")
async def test_a_file_that_says_nothing_of_its_size_is_sent(serve: Serve) -> None:
    """The kernel's own files have the size 0."""
    turns = ScriptedTurns()
    ended = await command("ask", "--table", "/proc/self/status", "--target", await serve(turns))
    assert ended.code == 0
    assert sent(turns).startswith(b"Name:")


def test_a_device_that_gives_nothing_is_no_hang(capsys: pytest.CaptureFixture[str]) -> None:
    """/dev/null is a stream that ends at once, and a server that is down is told first."""
    assert run(["ask", "--table", "/dev/null", "--target", "127.0.0.1:1"]) == 1
    assert "No Headworks server" in capsys.readouterr().err


def _write_and_close(number: int, data: bytes) -> None:
    with open(number, "wb") as file:
        file.write(data)
