"""Where a part's bytes come from: a file, or a stream that can be read once and whose length nobody knows."""

import asyncio
import os
import stat
import threading
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from headworks.server.cli.mistake import Mistake

STANDARD_INPUT = Path("/dev/stdin")
PIECE_BYTES = 64 * 1024
"""Bytes that are read, and sent, at a time; the contract says "64 KiB and less keep the stream lively"."""
HEAD_BYTES = 16
"""Bytes of a file that are looked at before anything is sent; the signs of all formats are shorter."""
_STANDARD_INPUT_NUMBER = 0


@dataclass(frozen=True, slots=True)
class Source:
    """A file or a stream that was looked at."""

    path: Path
    name: str
    """What people call it."""
    size_bytes: int | None
    """None for a stream."""
    head: bytes
    """A file's first bytes; empty for a stream, from which nothing is taken before it is sent."""


def path_of(word: str) -> Path:
    """Return the path that a word on the command line names: "-" is standard input, "./-" a file of that name."""
    return STANDARD_INPUT if word == "-" else Path(word)


def look(path: Path) -> Source:
    """Look at a file, or see that a stream is there.

    Raises:
        Mistake: it is missing, a folder, empty or unreadable, or standard input where nothing was piped in.
    """
    if path == STANDARD_INPUT:
        return _standard_input()
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise Mistake(f"{path} is a folder; name a file in it.")
        if not stat.S_ISREG(mode):
            return Source(path, str(path), None, b"")
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
            size = os.fstat(file.fileno()).st_size
    except FileNotFoundError as error:
        raise Mistake(f"There is no file {path}; check the path.") from error
    except OSError as error:
        raise Mistake(f"{path} cannot be read ({error.strerror}); check its permissions.") from error
    if not head:
        raise Mistake(f"{path} is empty; name a file with something in it.")
    return Source(path, path.name, size or None, head)  # /proc has files that say 0 and hold something


def check_read_once(sources: Sequence[Source]) -> None:
    """Refuse a stream that is named twice: the second reader would wait for ever, or find nothing.

    Raises:
        Mistake: one is.
    """
    streams = [source for source in sources if source.size_bytes is None]
    for number, source in enumerate(streams):
        if any(source.path == other.path for other in streams[:number]):
            raise Mistake(f"{source.name} can be read only once; name it once.")


async def pieces(source: Source) -> AsyncGenerator[bytes, None]:
    """Read a source to its end, in pieces of at most `PIECE_BYTES`. Pieces of a stream come as soon as they are there.

    Raises:
        Mistake: it can no longer be read, or a stream is empty.
    """
    try:
        if source.size_bytes is not None:
            with source.path.open("rb") as file:
                while data := file.read(PIECE_BYTES):
                    yield data
            return
        is_empty = True
        async for data in _streamed(source):
            is_empty = False
            yield data
    except OSError as error:
        raise Mistake(f"{source.name} cannot be read any more ({error.strerror}); try again.") from error
    if is_empty:
        raise Mistake(f"{source.name} is empty; pipe something into it.")


def _standard_input() -> Source:
    try:
        is_terminal = os.isatty(_STANDARD_INPUT_NUMBER)
        os.fstat(_STANDARD_INPUT_NUMBER)
    except OSError as error:
        raise Mistake("Standard input is closed; pipe a file into it, or name a file.") from error
    if is_terminal:
        raise Mistake('"-" reads standard input, which is the terminal here; pipe a file into it, or name a file.')
    return Source(STANDARD_INPUT, "standard input", None, b"")


async def _streamed(source: Source) -> AsyncGenerator[bytes, None]:
    """Read on a thread that nobody waits for: a pipe may stay silent for ever, and Ctrl-C must end the command."""
    loop = asyncio.get_running_loop()
    found: asyncio.Queue[bytes | OSError] = asyncio.Queue()
    wanted = threading.Semaphore(1)
    is_over = False

    def read() -> None:
        for data in _read_until_end(source):
            wanted.acquire()  # one piece waits at most, however fast the stream is
            if is_over:
                return
            with suppress(RuntimeError):  # the loop has ended before the stream
                loop.call_soon_threadsafe(found.put_nowait, data)

    threading.Thread(target=read, name="stream", daemon=True).start()
    try:
        while data := await found.get():
            if isinstance(data, OSError):
                raise data
            wanted.release()
            yield data
    finally:
        is_over = True
        wanted.release()


def _read_until_end(source: Source) -> Iterator[bytes | OSError]:
    """Yield what comes, and in the end b"" or the error that ended the stream."""
    try:
        with _opened(source) as file:
            while data := file.read(PIECE_BYTES):
                yield data
    except OSError as error:
        yield error
    else:
        yield b""


def _opened(source: Source) -> BinaryIO:
    """Open without a buffer: bytes come as soon as they are there, and the interpreter can end while a read waits."""
    if source.path == STANDARD_INPUT:
        return open(_STANDARD_INPUT_NUMBER, "rb", buffering=0, closefd=False)
    return source.path.open("rb", buffering=0)
