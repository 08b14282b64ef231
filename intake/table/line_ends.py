"""What ends the lines of a CSV: LF, CR LF or CR, told while its bytes come and made one where they differ.

DuckDB refuses a file whose lines end differently, and loses rows of some that end in CR LF where it has to guess.
"""

from collections.abc import Iterable, Iterator


class LineEnds:
    """Counts line ends in chunks cut anywhere. Those within quotes count too, so `are_mixed` may be true in vain."""

    def __init__(self) -> None:
        self._cr_lf = 0
        self._lf = 0
        self._cr = 0
        self._ends_in_cr = False

    def feed(self, chunk: bytes) -> None:
        """Count the ends in the next bytes."""
        text, self._ends_in_cr = _whole_ends(chunk, self._ends_in_cr)
        cr_lf = text.count(b"\r\n")
        self._cr_lf += cr_lf
        self._lf += text.count(b"\n") - cr_lf
        self._cr += text.count(b"\r") - cr_lf

    def finish(self) -> None:
        """Count a CR that was the last byte."""
        self._cr += self._ends_in_cr
        self._ends_in_cr = False

    @property
    def are_mixed(self) -> bool:
        """Whether the file needs `to_line_feeds`: a lone CR, or both of the others."""
        return bool(self._cr or (self._cr_lf and self._lf))

    @property
    def mark(self) -> str:
        """What ends every line where they are not mixed."""
        return "\r\n" if self._cr_lf and not self._lf else "\n"


def to_line_feeds(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """End every line in LF and leave what stands between quotes as it is."""
    is_quoted = ends_in_cr = False
    for chunk in chunks:
        text, ends_in_cr = _whole_ends(chunk, ends_in_cr)
        pieces = text.split(b'"')
        for number in range(int(is_quoted), len(pieces), 2):
            pieces[number] = pieces[number].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        is_quoted ^= len(pieces) % 2 == 0
        yield b'"'.join(pieces)
    if ends_in_cr:
        yield b"\r" if is_quoted else b"\n"


def _whole_ends(chunk: bytes, had_cr: bool) -> tuple[bytes, bool]:
    """Hold back a CR at the end of a chunk, because an LF may follow."""
    text = b"\r" + chunk if had_cr else chunk
    return (text[:-1], True) if text.endswith(b"\r") else (text, False)
