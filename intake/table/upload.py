"""A table's bytes on their way into a private file, checked as they come."""

import codecs
from enum import StrEnum
from pathlib import Path

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.table.settings import TableSettings
from headworks.intake.table.spool import Spool

PARQUET_MAGIC = b"PAR1"
DELIMITERS = ",;\t|"
_FOREIGN = {
    b"\x1f\x8b": "a gzip archive",
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"\x28\xb5\x2f\xfd": "a Zstandard archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"RIFF": "a RIFF file",
    b"fLaC": "a FLAC sound",
    b"OggS": "an Ogg file",
    b"%PDF": "a PDF",
    b"ARROW1": "an Arrow file",
    b"SQLite format 3": "a SQLite database",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
}
_MAGIC_BYTES = max(map(len, _FOREIGN))


class TableFormat(StrEnum):
    """What tables are read."""

    CSV = "csv"
    PARQUET = "parquet"


class Upload:
    """One table's bytes, on a spool that goes away with `close`."""

    def __init__(self, part: int, settings: TableSettings) -> None:
        """Open the spool.

        Raises:
            SpoolUnavailable: the temporary folder takes no file.
        """
        self._part = part
        self._settings = settings
        self._spool = Spool(settings.spool_folder)
        self._head = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._line_bytes = 0
        self.bytes = 0
        self.format: TableFormat | None = None

    def __enter__(self) -> "Upload":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """The file; whole once `finish` has returned."""
        return self._spool.path

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes.

        Raises:
            TooLarge: over `max_bytes`, or CSV without a line end for `max_line_bytes`.
            BadMedia: another kind of file, or CSV that is not UTF-8 or holds NUL.
            SpoolUnavailable: the temporary folder is full or cannot be written.
        """
        if self.bytes + len(chunk) > self._settings.max_bytes:
            raise TooLarge("intake.table.max_bytes", self._settings.max_bytes, self.bytes + len(chunk))
        if self.format is None:
            self._head += chunk
            if len(self._head) >= _MAGIC_BYTES:
                self._start()
        else:
            self._write(chunk)

    def finish(self) -> TableFormat:
        """End the upload and say what it is.

        Raises:
            BadMedia: empty, or it ends within a character.
            SpoolUnavailable: the temporary folder is full.
        """
        if self.format is None:
            self._start()
        if self.format is TableFormat.CSV:
            self._check_text(b"", final=True)
        self._spool.finish()
        if self.format is None:
            raise BadMedia(f"table {self._part}: no bytes came")
        return self.format

    def first_line(self) -> str:
        """The header of a CSV, at most `max_line_bytes` of it."""
        with self.path.open("rb") as file:
            return file.readline(self._settings.max_line_bytes).decode("utf-8-sig", "replace")

    def close(self) -> None:
        """Remove the spool; may be called twice."""
        self._spool.close()

    def _start(self) -> None:
        head, self._head = self._head, b""
        if not head:
            return
        for magic, what in _FOREIGN.items():
            if head.startswith(magic):
                raise BadMedia(f"table {self._part}: this is {what}; send CSV in UTF-8 or Parquet, uncompressed")
        self.format = TableFormat.PARQUET if head.startswith(PARQUET_MAGIC) else TableFormat.CSV
        self._write(head)

    def _write(self, chunk: bytes) -> None:
        if self.format is TableFormat.CSV:
            self._check_text(chunk, final=False)
        self._spool.write(chunk)
        self.bytes += len(chunk)

    def _check_text(self, chunk: bytes, *, final: bool) -> None:
        pending = len(self._decoder.getstate()[0])
        try:
            self._decoder.decode(chunk, final)
        except UnicodeDecodeError as error:
            place = self.bytes - pending + error.start
            raise BadMedia(f"table {self._part}: CSV is not UTF-8 at byte {place}") from None
        if (place := chunk.find(b"\0")) >= 0:
            raise BadMedia(f"table {self._part}: CSV holds a NUL byte at byte {self.bytes + place}")
        end = chunk.rfind(b"\n")
        self._line_bytes = self._line_bytes + len(chunk) if end < 0 else len(chunk) - end - 1
        if self._line_bytes > self._settings.max_line_bytes:
            raise TooLarge("intake.table.max_line_bytes", self._settings.max_line_bytes, self._line_bytes)
