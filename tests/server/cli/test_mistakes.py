"""Mistakes at the keyboard: one sentence that says what to do, and an exit code."""

import os
import re
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, packages_distributions, requires, version
from pathlib import Path

import pytest

from headworks.server.cli.app import run
from headworks.server.cli.checks import Check, State, _flat
from headworks.server.cli.inputs import TextPart, chunks
from headworks.server.client.contract import MAX_TEXT_BYTES
from tests.server.cli.conftest import write_wav


def sentence(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 2) -> str:
    """Run, and return the one line on standard error."""
    assert run(arguments) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert len(lines) == 1
    return lines[0]


def test_a_missing_file_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Paths are mistyped more often than anything else."""
    missing = tmp_path / "missing.png"
    assert f"There is no file {missing}" in sentence(capsys, "ask", "--image", str(missing))


def test_a_folder_is_no_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The shell completes folders too."""
    assert "is a folder" in sentence(capsys, "normalize", "--table", str(tmp_path))


def test_an_empty_file_is_told_before_the_server_is_asked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """An export that failed leaves one behind."""
    (tmp_path / "a.csv").touch()
    assert "is empty" in sentence(capsys, "ask", "--table", str(tmp_path / "a.csv"))


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that opens and cannot be read")
def test_an_unreadable_file_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    """Root may read everything, so this is a file that refuses its first byte to anyone."""
    assert "cannot be read" in sentence(capsys, "ask", "--table", "/proc/self/mem")


@pytest.mark.parametrize(
    ("option", "head", "words"),
    [
        ("--table", b"\x89PNG\r\n\x1a\n", ("a PNG picture", "--image")),
        ("--audio", b"\xff\xd8\xff\xe0", ("a JPEG picture", "--image")),
        ("--audio", b"RIFF\x0a\x00\x00\x00WEBPVP8 ", ("a WebP picture", "--image")),
        ("--image", b"RIFF\x0a\x0a\x00\x00WAVEfmt ", ("a WAV file", "--audio")),
        ("--table", b"fLaC\x00", ("a FLAC file", "--audio")),
        ("--table", b"OggS\x00", ("an Ogg file", "--audio")),
        ("--table", b"ID3\x03\x00", ("an MP3 file", "--audio")),
        ("--image", b"PAR1", ("a Parquet file", "--table")),
    ],
)
def test_a_file_under_the_wrong_option_is_told_by_its_bytes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, option: str, head: bytes, words: tuple[str, ...]
) -> None:
    """Before the server is asked; the name says nothing, as it may be anything."""
    (tmp_path / "a.csv").write_bytes(head)
    said = sentence(capsys, "ask", option, str(tmp_path / "a.csv"))
    assert all(word in said for word in words)


def test_mic_takes_no_stream(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Its pace is counted from the file's length."""
    os.mkfifo(tmp_path / "said")
    assert "--audio" in sentence(capsys, "ask", "--mic", str(tmp_path / "said"))


def test_mic_and_audio_exclude_each_other(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A turn's audio has one form."""
    said = str(write_wav(tmp_path / "a.wav"))
    assert "cannot go together" in sentence(capsys, "ask", "--mic", said, "--audio", said)


@pytest.mark.parametrize(
    ("channels", "width", "rate", "word"), [(2, 2, 16_000, "2 of 16"), (1, 1, 16_000, "1 of 8"), (1, 2, 4_000, "4000")]
)
def test_mic_says_what_is_wrong_with_a_recording(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, channels: int, width: int, rate: int, word: str
) -> None:
    """And how to convert it."""
    path = write_wav(tmp_path / "a.wav", channels=channels, width=width, rate=rate)
    assert word in sentence(capsys, "ask", "--mic", str(path))


def test_mic_takes_no_other_format(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Other formats cannot be read without the server's packages."""
    (tmp_path / "a.flac").write_bytes(b"fLaC" + bytes(100))
    assert "ffmpeg -i" in sentence(capsys, "ask", "--mic", str(tmp_path / "a.flac"))


def test_mic_with_no_sound_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A header alone is a recording that never began."""
    assert "no sound" in sentence(capsys, "ask", "--mic", str(write_wav(tmp_path / "a.wav", seconds=0)))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("ask",), "nothing to send"),
        (("ask", "  "), "question is empty"),
        (("ask", "hi", "--target", "nowhere"), "host:port"),
        (("ask", "hi", "--target", "h:99999"), "host:port"),
        (("ask", "hi", "--target", "::1:50051"), "in brackets"),
        (("serve", "--host", "127.0.0.1:50051"), "the port is a setting of its own"),
        (("ask", "hi", "--ca-file", "/nonexistent.pem"), "--ca-file"),
        (("ask", "hi", "--api-key", "a\nb"), "API key"),
        (("ask", "hi", "--temperature", "9"), "--temperature"),
        (("ask", "hi", "--max-tokens", "many"), "--max-tokens"),
        (("ask", "--nope"), "--nope"),
        (("bogus",), "bogus"),
        (("models", "pull", "--only", "bogus"), "bogus"),
        (("serve", "--config", "/nonexistent.toml"), "/nonexistent.toml"),
        (("serve", "--host", "0.0.0.0"), "not loopback"),  # noqa: S104
        (("serve", "--engine", "bogus"), "bogus"),
        (("serve", "--log-level", "loud"), "loud"),
        (("doctor", "--config", "/nonexistent.toml"), "/nonexistent.toml"),
    ],
)
def test_a_wrong_command_is_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], word: str
) -> None:
    """Exit code 2, as with every command line."""
    assert run(arguments) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert word in error


def test_a_server_that_is_down_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    """It says how to start one."""
    assert "headworks serve" in sentence(capsys, "ask", "hi", "--target", "127.0.0.1:1", code=1)


def test_an_empty_store_says_how_to_fill_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Verify must not call nothing whole."""
    assert "models pull" in sentence(capsys, "models", "verify", "--store", str(tmp_path), code=1)
    assert run(["models", "list", "--store", str(tmp_path)]) == 0
    assert "models pull" in capsys.readouterr().out


def test_a_store_that_cannot_be_written_is_one_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A file where the folder should be."""
    (tmp_path / "store").touch()
    words = sentence(capsys, "models", "pull", "--only", "vad", "--store", str(tmp_path / "store"), code=1)
    assert "--store" in words


def test_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    """For bug reports."""
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("headworks 0.")


async def test_a_long_question_is_cut_between_characters() -> None:
    """A message holds at most 64 KiB, and never half a character."""
    text = "aß€😀" * 20_000
    pieces = [chunk async for chunk in chunks((TextPart(text),), lambda *_: None)]
    assert all(len(piece.data) <= MAX_TEXT_BYTES for piece in pieces)
    assert "".join(piece.data.decode() for piece in pieces) == text
    assert [piece.is_last for piece in pieces] == [False] * (len(pieces) - 1) + [True]


BASE_INSTALL = """
import sys
ALLOWED = set(sys.argv.pop(1).split(","))
class Blocker:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in ALLOWED and top not in sys.stdlib_module_names and not top.startswith("_"):
            raise ModuleNotFoundError(f"No module named {top!r}", name=top)
sys.meta_path.insert(0, Blocker())
from headworks.server.cli.app import run
sys.exit(run(sys.argv[1:]))
"""


def base_modules() -> set[str]:
    """Return the top-level modules of what a base install brings: our requirements without extras, and theirs."""
    wanted, seen = ["headworks"], set()
    while wanted:
        name = wanted.pop()
        seen.add(name)
        for line in requires(name) or ():
            required = re.split(r"[ ;<>=!~\[(]", line)[0].lower().replace("_", "-")
            if "extra ==" not in line and required not in seen:
                with suppress(PackageNotFoundError):
                    version(required)
                    wanted.append(required)
    return {
        module
        for module, owners in packages_distributions().items()
        if seen & {owner.lower().replace("_", "-") for owner in owners}
    } | {"headworks"}


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("--help",), 0, "normalize"),
        (("ask", "hi", "--target", "127.0.0.1:1"), 1, "No Headworks server"),
        (("models", "list", "--store", "/nonexistent"), 0, "models pull"),
        (("serve",), 1, "pip install 'headworks[server,cpu]'"),
        (("models", "pull", "--store", "/nonexistent"), 1, "pip install 'headworks[server,cpu,models]'"),
        (("doctor", "--store", "/nonexistent"), 0, "not looked at"),
    ],
)
def test_the_client_half_needs_the_base_install_only(arguments: tuple[str, ...], code: int, word: str) -> None:
    """The server's packages cannot be imported in this process; what needs them says what to install."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HEADWORKS_")}
    ended = subprocess.run(
        [sys.executable, "-c", BASE_INSTALL, ",".join(base_modules()), *arguments],
        capture_output=True,
        text=True,
        env=kept,
        check=False,
    )
    assert ended.returncode == code, ended.stderr
    assert word in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr


def test_checks_are_flat() -> None:
    """Settings are shown by dotted key."""
    assert dict(_flat({"a": {"b": 1}, "c": 2})) == {"a.b": 1, "c": 2}
    assert Check("x", State.FINE, "y").state == "ok"
