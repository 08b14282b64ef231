"""A table's bytes on their way into a private file, checked as they come."""

import codecs
from enum import StrEnum
from pathlib import Path

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.table.line_ends import LineEnds, to_line_feeds
from headworks.intake.table.settings import TableSettings
from headworks.intake.table.spool import Spool

PARQUET_MAGIC = b"PAR1"
PARQUET_IS_ENCRYPTED = "the Parquet file is encrypted; send it without encryption"
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
_ENCRYPTED_PARQUET_MAGIC = b"PARE"
_TEXT_BYTES = frozenset(b"\t\r\n") | frozenset(range(0x20, 0x7F))
_BLOCK_BYTES = 64 * 1024
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
        self._mark_bytes = 0
        self._line_bytes = 0
        self._line_ends = LineEnds()
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
            self._line_ends.finish()
        self._spool.finish()
        if self.format is None:
            raise BadMedia(f"table {self._part}: no bytes came")
        return self.format

    @property
    def line_mark(self) -> str:
        """What ends the lines of a CSV, once `even_line_ends` has run."""
        return self._line_ends.mark

    def even_line_ends(self) -> None:
        """End every line of a finished CSV in LF where LF, CR LF and CR are mixed. Blocking: it reads the whole file.

        Raises:
            SpoolUnavailable: the temporary folder has no room for the new file beside the old one.
        """
        if not self._line_ends.are_mixed:
            return
        self._line_ends = LineEnds()
        with self.path.open("rb") as old:
            self._spool.replace(to_line_feeds(iter(lambda: old.read(_BLOCK_BYTES), b"")))

    def head(self, size: int) -> bytes:
        """The first bytes of the finished file, at most `size`."""
        with self.path.open("rb") as file:
            return file.read(size)

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
        if _is_binary_after(_ENCRYPTED_PARQUET_MAGIC, head):
            raise BadMedia(f"table {self._part}: {PARQUET_IS_ENCRYPTED}")
        self.format = TableFormat.PARQUET if _is_binary_after(PARQUET_MAGIC, head) else TableFormat.CSV
        if self.format is TableFormat.CSV and head.startswith(codecs.BOM_UTF8):
            # DuckDB takes a quote after it for a part of the first cell.
            self._mark_bytes = len(codecs.BOM_UTF8)
        self._write(head[self._mark_bytes :])

    def _write(self, chunk: bytes) -> None:
        if self.format is TableFormat.CSV:
            self._check_text(chunk, final=False)
            self._line_ends.feed(chunk)
        self._spool.write(chunk)
        self.bytes += len(chunk)

    def _check_text(self, chunk: bytes, *, final: bool) -> None:
        pending = len(self._decoder.getstate()[0])
        try:
            self._decoder.decode(chunk, final)
        except UnicodeDecodeError as error:
            place = self._mark_bytes + self.bytes - pending + error.start
            raise BadMedia(f"table {self._part}: CSV is not UTF-8 at byte {place}") from None
        if (place := chunk.find(b"\0")) >= 0:
            raise BadMedia(f"table {self._part}: CSV holds a NUL byte at byte {self._mark_bytes + self.bytes + place}")
        end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
        self._line_bytes = self._line_bytes + len(chunk) if end < 0 else len(chunk) - end - 1
        if self._line_bytes > self._settings.max_line_bytes:
            raise TooLarge("intake.table.max_line_bytes", self._settings.max_line_bytes, self._line_bytes)


def _is_binary_after(magic: bytes, head: bytes) -> bool:
    """Tell Parquet, whose magic bytes are letters, from a CSV whose first name begins with them ("PARENT", "PAR1")."""
    after = head[len(magic) : 2 * len(magic)]
    return head.startswith(magic) and not (after and all(byte in _TEXT_BYTES for byte in after))
