"""Private files in the temporary folder, where a table waits until DuckDB has read it."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from headworks.intake.errors import SpoolUnavailable

_PROBE_BYTES = 64 * 1024


class Spool:
    """One file in a folder of its own (mode 0700). Both are gone after `close`, whatever happened before."""

    def __init__(self, folder: str = "") -> None:
        """Make the folder and open the file.

        Args:
            folder: Where to make it; "" is the system's temporary folder.
        Raises:
            SpoolUnavailable: as `write`.
        """
        with _naming_faults():
            self._folder = Path(tempfile.mkdtemp(prefix="headworks-table-", dir=folder or None))
        self.path = self._folder / "upload"
        try:
            with _naming_faults():
                self._file: BinaryIO = self.path.open("xb")
        except SpoolUnavailable:
            self._remove()
            raise

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, chunk: bytes) -> None:
        """Append bytes; they are in the file for certain after `finish`.

        Raises:
            SpoolUnavailable: the folder is full, or the system lets nobody write there.
        """
        with _naming_faults():
            self._file.write(chunk)

    def finish(self) -> None:
        """Flush and close the file, and keep it until `close`.

        Raises:
            SpoolUnavailable: as `write`; a full folder may be noticed only here.
        """
        with _naming_faults():
            self._file.close()

    def replace(self, chunks: Iterator[bytes]) -> None:
        """Put other bytes in the finished file's place.

        Args:
            chunks: May read the old file while it is iterated.
        Raises:
            SpoolUnavailable: as `write`; the old file is still there.
        """
        new = self._folder / "replacement"
        with _naming_faults():
            with new.open("xb") as file:
                file.writelines(chunks)
            new.replace(self.path)

    def close(self) -> None:
        """Remove file and folder; may be called twice."""
        with suppress(OSError):
            # Closing flushes, which fails where the disk is full. Nobody needs these bytes any more.
            self._file.close()
        self._remove()

    def _remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def check_spool(folder: str = "") -> None:
    """Write a small file to the temporary folder and remove it.

    Args:
        folder: As for `Spool`.
    Raises:
        SpoolUnavailable: no table could be taken in.
    """
    with Spool(folder) as spool:
        spool.write(bytes(_PROBE_BYTES))
        spool.finish()


@contextmanager
def _naming_faults() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SpoolUnavailable(f"the temporary folder (intake.table.spool_folder) takes no table: {reason}") from None
