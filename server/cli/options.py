"""Options that several commands share. The help of each says what it is for, its unit and its default."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from headworks.intake.errors import NoHome
from headworks.intake.models.store import DEFAULT_ROOT, at_home
from headworks.server.cli.mistake import Mistake, needs_extra
from headworks.server.cli.source import path_of
from headworks.server.client.client import HeadworksClient

DEFAULT_TARGET = "127.0.0.1:50051"
STORE_VARIABLE = "HEADWORKS_MODELS__STORE"

Question = Annotated[str | None, typer.Argument(help="The question as text; it is sent after the files.")]
_MANY = "may be given several times, - is standard input."
Audio = Annotated[
    list[Path],
    typer.Option("--audio", metavar="FILE", parser=path_of, help=f"A WAV, FLAC, OGG or MP3 file; {_MANY}"),
]
Image = Annotated[
    list[Path], typer.Option("--image", metavar="FILE", parser=path_of, help=f"A PNG, JPEG or WebP file; {_MANY}")
]
Table = Annotated[
    list[Path], typer.Option("--table", metavar="FILE", parser=path_of, help=f"A CSV or Parquet file; {_MANY}")
]
Mic = Annotated[
    Path | None,
    typer.Option(
        "--mic",
        metavar="FILE",
        help="A 16-bit mono WAV file, sent as a microphone would send it: at the pace at which it was spoken.",
    ),
]
Model = Annotated[
    str, typer.Option("--model", metavar="NAME", help="Name of the model to answer; by default the served one.")
]
Instructions = Annotated[
    str,
    typer.Option(
        "--instructions",
        metavar="TEXT",
        help="Instructions for the model that hold for the whole turn, at most 4,096 bytes; none by default.",
    ),
]
Purpose = Annotated[
    str,
    typer.Option(
        "--purpose",
        metavar="TEXT",
        help="What the turn is for, at most 64 bytes; policy may read it, and cannot check it. None by default.",
    ),
]
Batch = Annotated[
    bool,
    typer.Option("--batch", help="Nobody waits: let interactive turns go first. Off by default."),
]
MaxTokens = Annotated[
    int,
    typer.Option(
        "--max-tokens",
        metavar="COUNT",
        min=0,
        help="The most tokens that the answer may have; 0 is the server's default.",
    ),
]
Temperature = Annotated[
    float,
    typer.Option(
        "--temperature", metavar="NUMBER", min=0.0, max=2.0, help="Sampling temperature, 0 to 2; 0 is greedy."
    ),
]
Target = Annotated[
    str, typer.Option("--target", metavar="HOST:PORT", envvar="HEADWORKS_TARGET", help="The gRPC server as host:port.")
]
ApiKey = Annotated[
    str | None,
    typer.Option(
        "--api-key",
        metavar="KEY",
        envvar="HEADWORKS_API_KEY",
        show_default=False,
        help="Sent as a bearer token. Other users of this machine can read a command line, so better set the variable. "
        "A server on this machine needs no key.",
    ),
]
CaFile = Annotated[
    Path | None,
    typer.Option("--ca-file", metavar="FILE", help="PEM certificates to trust; turns TLS on. None by default."),
]
Tls = Annotated[bool, typer.Option("--tls", help="Speak TLS, trusting the usual authorities. Off by default.")]
Timeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=0.1, max=86_400.0, help="Give up after this many seconds.")
]
Retries = Annotated[
    int,
    typer.Option(
        "--retries",
        metavar="COUNT",
        min=0,
        max=10,
        help="How often to try again when the server refuses and says when to come back; never after the first token.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON lines instead of text. Off by default.")]
Config = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Settings file in TOML; none by default.")
]
Store = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="FOLDER",
        envvar=STORE_VARIABLE,
        show_default=False,
        help="Folder of the model store; by default the settings file's, else ~/.headworks/models.",
    ),
]


def store_folder(store: Path | None, config: Path | None) -> Path:
    """Return the folder of the model store that a gateway with this settings file would use.

    Args:
        store: From --store or its variable; it wins over the file.
        config: The settings file; None for no file.

    Raises:
        Mistake: it is in a home folder that this user has not, a setting is wrong, or a file is named where the
            server's packages, which read it, are missing.
    """
    if config is None:
        try:
            return at_home(store or DEFAULT_ROOT)
        except NoHome as error:
            raise Mistake(f"The store {error}, with --store.") from error
    with needs_extra("server,cpu"):
        from headworks.server.settings import SettingsError, load
    try:
        return load(config, {"models.store": store}).models.store
    except SettingsError as error:
        raise Mistake(f"A setting is wrong: {error}.") from error


@dataclass(frozen=True, slots=True)
class Connection:
    """Where to call, and how."""

    target: str
    api_key: str | None
    ca_file: Path | None
    is_encrypted: bool
    timeout_seconds: float

    def open(self, *, has_own_connection: bool = False) -> HeadworksClient:
        """Return a client; an event loop must be running.

        Args:
            has_own_connection: See `HeadworksClient`.
        Raises:
            Mistake: the target, the key or the certificate file cannot be used.
        """
        host, _, port = self.target.rpartition(":")
        if "://" not in self.target:
            if not (host and port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
                raise Mistake(f"--target takes host:port, not {self.target!r}; for example {DEFAULT_TARGET}.")
            if ":" in host and not host.startswith("["):
                raise Mistake(f"--target takes an IPv6 address in brackets, not {self.target!r}; as in [::1]:50051.")
        if self.api_key and not (self.api_key.isascii() and self.api_key.isprintable()):
            raise Mistake("The API key holds characters that no key has; copy it again.")
        try:
            return HeadworksClient(
                self.target,
                self.api_key,
                self.ca_file,
                is_encrypted=self.is_encrypted,
                has_own_connection=has_own_connection,
            )
        except OSError as error:
            raise Mistake(f"--ca-file {self.ca_file} cannot be read ({error.strerror}); check the path.") from error
