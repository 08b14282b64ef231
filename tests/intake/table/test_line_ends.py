"""Line ends, told and made one."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.intake.table.line_ends import LineEnds, to_line_feeds
from headworks.intake.table.settings import TableSettings
from headworks.intake.table.upload import Upload
from tests.intake.table.tables import opened
from tests.strategies import cut_bytes

TEXTS = st.text('ab,"\r\n', max_size=30).map(str.encode)


@given(data=st.data(), text=TEXTS)
def test_line_ends_do_not_depend_on_where_the_bytes_were_cut(data: st.DataObject, text: bytes) -> None:
    """A CR at the end of a chunk is half of a CR LF or a line end of its own."""
    chunks = data.draw(cut_bytes(text))
    whole, cut = LineEnds(), LineEnds()
    whole.feed(text)
    for chunk in chunks:
        cut.feed(chunk)
    whole.finish()
    cut.finish()
    assert (whole.are_mixed, whole.mark) == (cut.are_mixed, cut.mark)
    assert b"".join(to_line_feeds(chunks)) == b"".join(to_line_feeds([text]))


@given(text=TEXTS)
def test_only_ends_outside_of_quotes_change(text: bytes) -> None:
    """A line end within a cell is the sender's."""
    found = b"".join(to_line_feeds([text]))
    for number, (was, now) in enumerate(zip(text.split(b'"'), found.split(b'"'), strict=True)):
        assert now == (was if number % 2 else re.sub(rb"\r\n?", b"\n", was))


@pytest.mark.parametrize(
    ("text", "are_mixed", "mark"),
    [
        (b"a\nb\n", False, "\n"),
        (b"a\r\nb\r\n", False, "\r\n"),
        (b"a\r\nb\n", True, "\n"),
        (b"a\rb\r", True, "\n"),
        (b"a\nb\r", True, "\n"),
        (b"a", False, "\n"),
    ],
)
def test_mixed_ends_are_told(text: bytes, are_mixed: bool, mark: str) -> None:
    """A file whose lines end alike is not written again."""
    ends = LineEnds()
    ends.feed(text)
    ends.finish()
    assert ends.are_mixed is are_mixed
    if not are_mixed:
        assert ends.mark == mark


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", ["\n", "\r\n", "\r", ""])
def test_table_does_not_depend_on_its_line_ends(end: str, last: str) -> None:
    """DuckDB refuses mixed ones ("the rows cannot be read", duckdb/duckdb#15959)."""
    text = f'month,note{end}2025-01,"first\r\nline"{end}2025-02,"second\nline"{last}'
    with opened(text.encode()) as table:
        assert table.sample(10, 80) == [("2025-01", "first\r\nline"), ("2025-02", "second\nline")]


def test_line_ends_are_made_one_in_place(tmp_path: str) -> None:
    """The old file goes, and its name stays the one that DuckDB may read."""
    with Upload(1, TableSettings(spool_folder=str(tmp_path))) as upload:
        upload.feed(b"a,b\r\n1,2\n" * 20_000)
        upload.finish()
        upload.even_line_ends()
        assert upload.path.read_bytes() == b"a,b\n1,2\n" * 20_000
        assert [path.name for path in upload.path.parent.iterdir()] == [upload.path.name]
