"""What a CSV becomes: no row, name or value is lost or changed on the way."""

import csv
import io
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.table.settings import TableSettings
from headworks.intake.table.table import Row, Table
from tests.intake.table.tables import opened

LATE = 25_000
"""Rows before a value that a look at the first rows would miss."""


def types(table: Table) -> list[str]:
    return [column.type for column in table.profile.columns]


def names(table: Table) -> list[str]:
    return [column.name for column in table.profile.columns]


def rows(table: Table, first: int = 100) -> list[Row]:
    return table.sample(first, 1000)


@pytest.mark.parametrize(
    ("usual", "late", "type_name", "shown"),
    [
        ("7", "1.5", "DOUBLE", "1.5"),
        ("7", "99.99", "DOUBLE", "99.99"),
        ("7", "x", "VARCHAR", "x"),
        ("7", "0x1F", "VARCHAR", "0x1F"),
        ("7", "007", "VARCHAR", "007"),
        ("7", "12345678901234567890", "HUGEINT", "12345678901234567890"),
        ("7.5", "12345678901234567890", "VARCHAR", "12345678901234567890"),
        ("7.5", "1234567.12345678912", "VARCHAR", "1234567.12345678912"),
        ("2025-01-01", "2025-01-02 13:45:00", "TIMESTAMP", "2025-01-02 13:45:00"),
        ("2025-01-01", "2025-02-30", "VARCHAR", "2025-02-30"),
        ("2025-01-01 10:00:00", "2025-01-01 10:00:00.123456789", "VARCHAR", "2025-01-01 10:00:00.123456789"),
        ("03/04/2025", "13/04/2025", "DATE", "2025-04-13"),
        ("03/04/2025", "04/13/2025", "DATE", "2025-04-13"),
        ("true", "yes", "VARCHAR", "yes"),
        ("", "5", "BIGINT", "5"),
        ("", "x", "VARCHAR", "x"),
    ],
)
def test_late_value_survives(usual: str, late: str, type_name: str, shown: str) -> None:
    """DuckDB types a column by its first rows and then casts loosely: 1.5 became 2 (duckdb/duckdb#25824)."""
    data = "n,m\n" + f"{usual},1\n" * LATE + f"{late},1\n"
    with opened(data.encode()) as table:
        assert types(table) == [type_name, "BIGINT"]
        assert table.page([], 1, LATE - 1, 1000).rows[0][1][0] == shown


@pytest.mark.parametrize(
    ("values", "type_name", "shown"),
    [
        (["1.50", "2.25"], "DOUBLE", ["1.5", "2.25"]),
        (["1e5", "-2.5E-07"], "DOUBLE", ["100000.0", "-2.5e-07"]),
        (["0.30000000000000004", "1"], "DOUBLE", ["0.30000000000000004", "1.0"]),
        (["1234567.1234567890", "1"], "DOUBLE", ["1234567.123456789", "1.0"]),
        (["NaN", "1.5"], "DOUBLE", ["nan", "1.5"]),
        ([" 7 ", "8"], "BIGINT", ["7", "8"]),
        (["9223372036854775807", "-1"], "BIGINT", ["9223372036854775807", "-1"]),
        (["123456789012345678901234567890123456789"], "HUGEINT", ["123456789012345678901234567890123456789"]),
        (["True", "FALSE"], "BOOLEAN", ["true", "false"]),
        (["08:30:15", "23:59:59.5"], "TIME", ["08:30:15", "23:59:59.5"]),
        (["2025-01-02T08:30", "2025-01-01"], "TIMESTAMP", ["2025-01-02 08:30:00", "2025-01-01 00:00:00"]),
        (["2025-01-02T08:30:00Z"], "TIMESTAMP WITH TIME ZONE", ["2025-01-02 08:30:00+00"]),
        (["15.01.2025", "3.4.2025"], "DATE", ["2025-01-15", "2025-04-03"]),
        (["2025/01/15"], "DATE", ["2025-01-15"]),
        (["15-01-2025", "03-04-2025"], "DATE", ["2025-01-15", "2025-04-03"]),
        (["01/15/2025", "03/04/2025"], "DATE", ["2025-01-15", "2025-03-04"]),
    ],
)
def test_value_may_be_written_otherwise(values: list[str], type_name: str, shown: list[str]) -> None:
    """Numbers, clocks and dates are worth a type where nothing is lost in it."""
    with opened("\n".join(["n,m", *(f"{value},1" for value in values)]).encode()) as table:
        assert types(table)[0] == type_name
        assert [row[0] for row in rows(table)] == shown


@pytest.mark.parametrize(
    "values",
    [
        ["03/04/2025", "05/06/2025"],
        ["03-04-2025"],
        ["01/15/2025", "15/01/2025"],
        ["03/04/25", "31/12/25"],
        ["03.04.25"],
        ["03/04/2025 10:00:00"],
        ["2025-01-01T08:30:00+02:00"],
        ["2025-01-01 08:30:00.1234567"],
        ["0000-00-00", "2025-01-01"],
        ["epoch", "2025-01-01"],
        ["infinity", "2025-01-01"],
        ["0000-01-01"],
        ["05:30", "10:15"],
        ["01234", "99999"],
        ["+4915112345678"],
        ["0x1F"],
        ["0b11"],
        ["1_000"],
        ["12345678901.1234567890"],
        ["0.1234567890123456789"],
        ["1e400", "1"],
        ["1e-400", "1"],
        ["1e-320", "1"],
        ["99999999999999999999999999999999999999999", "1"],
        ["yes", "no"],
        ["t", "f"],
        [" true", "false"],
        ["7", "  "],
        ["1.234,56"],
        ["12%"],
    ],
)
def test_value_that_would_change_stays_text(values: list[str]) -> None:
    """A date with two readings (wireservice/csvkit#280), a sign, a zero, a zone: nobody could ask for them again."""
    with opened("\n".join(["n|m", *(f"{value}|1" for value in values)]).encode()) as table:
        assert types(table)[0] == "VARCHAR"
        assert [row[0] for row in rows(table)] == values


@pytest.mark.parametrize(
    ("data", "header", "count"),
    [
        ("region,2021,2022\nNorth,10,20\nSouth,11,21\n", ["region", "2021", "2022"], 2),
        (",2021,2022\nNorth,10,20\n", ["column0", "2021", "2022"], 1),
        ("2022,2021\n10,20\n11,21\n", ["2022", "2021"], 2),
        (",name,city\n0,Ann,Berlin\n1,Bob,Paris\n", ["column0", "name", "city"], 2),
        ("id,0,1,2\na,5,6,7\n", ["id", "0", "1", "2"], 1),
        ("0,1,2\n5.1,3.5,1.4\n", ["0", "1", "2"], 1),
        ("product,1,2,3,4\nA,5,6,7,8\n", ["product", "1", "2", "3", "4"], 1),
        ("x,2025-01-01,2025-01-02\nNorth,3,4\n", ["x", "2025-01-01", "2025-01-02"], 1),
        ("day,n\n03/04/2025,1\n", ["day", "n"], 1),
        ("a,A,a\n1,2,3\n", ["a", "A_1", "a_2"], 1),
        ("a, b \n1,2\n", ["a", "b"], 1),
        ('"a\nx",b\r\n1,2\r\n', ["a\nx", "b"], 1),
        ('\ufeff"a\nx","b"\n1,2\n', ["a\nx", "b"], 1),
        ("1,2,3\n4,5,6\n", ["column0", "column1", "column2"], 2),
        ("North,10,20\nSouth,11,21\n", ["column0", "column1", "column2"], 2),
        ("2021,2022\n2022,2023\n", ["column0", "column1"], 2),
        ("1,2,3", ["column0", "column1", "column2"], 1),
        ("a,b,c", ["a", "b", "c"], 0),
        (",".join("1234567890123") + "\n" + ",".join("1234567890123") + "\n", [f"column{n:02}" for n in range(13)], 2),
        ("PAR1,PAR2\n3,4\n", ["PAR1", "PAR2"], 1),
        ("PARENT,CHILD,BORN\nx,y,4\n", ["PARENT", "CHILD", "BORN"], 1),
    ],
)
def test_header_is_told_from_data(data: str, header: list[str], count: int) -> None:
    """Years and other numbers name columns too (posit-dev/positron#8860), and a first row of values is a row."""
    with opened(data.encode()) as table:
        assert names(table) == header
        assert table.profile.rows == count


@pytest.mark.parametrize(
    ("data", "header"),
    [
        ("sep=;\nmonth;orders\nJan;3\n", ["month", "orders"]),
        ("SEP=,\r\nmonth,orders\r\nJan,3\r\n", ["month", "orders"]),
        ("sep=\t\nmonth\torders\nJan\t3\n", ["month", "orders"]),
        ("sep=^\nmonth^orders\nJan^3\n", ["month", "orders"]),
        ('\ufeff"sep=|"\r\nmonth|orders\r\nJan|3\r\n', ["month", "orders"]),
        ("sep=;\rmonth;orders\rJan;3", ["month", "orders"]),
        ("\n\nmonth,orders\nJan,3\n", ["month", "orders"]),
        ("# made, by, us\n# today\n\nmonth,orders\nJan,3\n", ["month", "orders"]),
        ("##v1\n#month,orders\nJan,3\n", ["#month", "orders"]),
        ("#month,orders\nJan,3\n", ["#month", "orders"]),
        ("month;orders\nJan;3,5\nFeb;4,5\n", ["month", "orders"]),
        ("month,orders;all\nJan,3\n", ["month", "orders;all"]),
        ("month,orders\nJan,3,\nFeb,4,\n", ["month", "orders"]),
    ],
)
def test_lines_above_the_header_are_no_rows(data: str, header: list[str]) -> None:
    """Excel's `sep=;` became the header (python/cpython#109644); comments and blank lines come from other tools."""
    with opened(data.encode()) as table:
        assert names(table) == header
        assert rows(table)[0][0] == "Jan"


@pytest.mark.parametrize("row", ["#1 fan,3", "# no comment,3"])
def test_value_with_a_number_sign_is_kept(row: str) -> None:
    """DuckDB takes `#` for a comment once a line looks like one, and cuts other lines there."""
    with opened(f"# tool\n# of ours\nname,n\n{row}\n".encode()) as table:
        assert rows(table) == [tuple(row.split(","))]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"a,b\n1,2,3\n", "CSV line 2: 2 columns expected, more found"),
        (b"a\n1,2\n", "CSV line 2: 1 columns expected, more found"),
        (b"a,b\n1\n2,3\n", "CSV line 2: 2 columns expected, 1 found"),
        (b"sep=;\r\na;b\r\n1;2\r\n3\r\n", "CSV line 4: 2 columns expected, 1 found"),
        (b"a,b\n1,2\n# total: 3\n", "CSV line 3: 2 columns expected, 1 found"),
        (b"a,b\r1,2\r3\r", "CSV line 3: 2 columns expected, 1 found"),
        (b"a,b\n1,x\ry\n", "CSV line 3: 2 columns expected, 1 found"),
        (b"sep=;\n", "CSV has no row"),
        (b"\n\n", "CSV has no row"),
        (b"\xef\xbb\xbf", "CSV has no row"),
    ],
)
def test_row_that_does_not_fit_is_named(data: bytes, sentence: str) -> None:
    """DuckDB drops the header, or the column's end, to make such files fit."""
    with pytest.raises(BadMedia, match=sentence), opened(data):
        pass


def test_wide_header_is_refused_before_rows_are_read() -> None:
    """The limit holds for a header in quotes too."""
    data = ",".join(f'"c{number}"' for number in range(30)).encode() + b"\n" + b"\xc3\xa4" * 30
    with (
        pytest.raises(TooLarge, match="max_columns allows 29, the input has 30"),
        opened(data, TableSettings(max_columns=29)),
    ):
        pass


def test_carriage_returns_end_lines_in_the_limit_on_lines() -> None:
    """A file of an old Mac is one line only for those who look for LF (tidyverse/readr#1236)."""
    data = b"month,orders\r" + b"2025-01,3\r" * 400
    with opened(data, TableSettings(max_line_bytes=100)) as table:
        assert table.profile.rows == 400


CELLS = st.one_of(
    st.sampled_from(
        [
            "",
            "0",
            "7",
            "-12",
            "007",
            "2021",
            "1.50",
            "1e5",
            "x",
            "yes",
            "true",
            "2025-01-31",
            "03/04/2025",
            "31/01/2025",
        ]
    ),
    st.integers(-(10**20), 10**20).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=4).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.dates().map(str),
    st.datetimes().map(str),
    st.times().map(str),
    st.text(" ,;\t|\"'#\r\n.0a", max_size=8),
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
@given(data=st.data())
def test_every_value_comes_back(data: st.DataObject) -> None:
    """Whatever is sent, and however its lines end: as many rows, and the same text or the same value."""
    columns = data.draw(st.integers(2, 4))
    kinds = [data.draw(st.sampled_from([CELLS, st.integers().map(str), st.dates().map(str)])) for _ in range(columns)]
    sent = data.draw(st.lists(st.tuples(*kinds), min_size=1, max_size=8))
    delimiter = data.draw(st.sampled_from(",;\t|"))
    text = "".join(
        line(row, delimiter, data.draw(st.sampled_from(["\n", "\r\n", "\r"]))) for row in [names_of(columns), *sent]
    )
    mark = data.draw(st.sampled_from(["", "\ufeff"]))
    with opened((mark + text).encode()) as table:
        shown = rows(table)
        assert names(table) == names_of(columns)
        assert len(shown) == len(sent)
        for was, now in zip(sent, shown, strict=True):
            for cell, value, kind in zip(was, now, types(table), strict=True):
                assert means(value, kind) == (means(cell, kind) if cell else None), (cell, value, kind)


def names_of(columns: int) -> list[str]:
    return [f"name {number}" for number in range(columns)]


def line(row: Any, delimiter: str, end: str) -> str:
    buffer = io.StringIO()
    # Python's writer quotes only the line end that it was told.
    has_line_end = any("\r" in cell or "\n" in cell for cell in row)
    csv.writer(
        buffer, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL if has_line_end else csv.QUOTE_MINIMAL
    ).writerow(row)
    return buffer.getvalue()


def means(cell: str | None, kind: str) -> object:
    """What a cell says, in a column of a type."""
    if cell is None or kind == "VARCHAR":
        return cell
    if kind in ("BIGINT", "HUGEINT", "DOUBLE"):
        return Decimal(cell.strip())
    text = cell.strip().replace("T", " ").lower()
    if kind == "TIMESTAMP":
        text = text if ":" in text else f"{text} 00:00:00"
    return re.sub(r"(\.\d*?)0+$", r"\1", re.sub(r"^(\d\d)/(\d\d)/(\d{4})$", r"\3-\2-\1", text))
