"""CSV and Parquet, read by DuckDB in a box."""

import datetime
import gzip
import os
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headworks.intake.errors import BadMedia, IntakeError, TooLarge
from headworks.intake.table.faults import TableBroken
from headworks.intake.table.settings import TableSettings
from headworks.intake.table.table import Table, read_table
from headworks.intake.table.upload import TableFormat, Upload
from tests.intake.table.tables import opened, parquet
from tests.strategies import cut_bytes

ORDERS = (resources.files("headworks.server.cli.demo") / "orders.csv").read_bytes()
MIXED: dict[str, list[Any]] = {
    "id": [1, 2, None, 4],
    "name": ["a", None, "ü", ""],
    "price": [Decimal("1.50"), Decimal("2.25"), None, Decimal("0.01")],
    "day": [datetime.date(2025, 1, 1), None, datetime.date(2025, 3, 1), datetime.date(1999, 12, 31)],
    "ok": [True, False, None, True],
    "tags": [["x"], [], None, ["y", "z"]],
    "nothing": [None, None, None, None],
}

ODD: dict[str, Any] = {
    "time": [datetime.time(10, 30), None],
    "stamp": [datetime.datetime(2025, 1, 1, 10), datetime.datetime(1999, 12, 31)],
    "zoned": [datetime.datetime(2025, 1, 1, 10, tzinfo=datetime.UTC), None],
    "nanoseconds": pa.array([1, 2], pa.timestamp("ns")),
    "bytes": [b"\x00\xff", b"a"],
    "record": [{"a": 1, "b": ["x"]}, {"a": None, "b": []}],
    "map": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
    "lists": [[[1], []], [[2, None]]],
    "small": pa.array([1, -1], pa.int8()),
    "float": pa.array([1.5, float("nan")], pa.float32()),
    "null": pa.nulls(2),
    "dictionary": pa.array(["a", "b"]).dictionary_encode(),
}


def summarized(path: Path, reader: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as oracle:
        rows = oracle.execute(
            f"SELECT column_name, column_type, min, max, count, null_percentage FROM (SUMMARIZE FROM {reader}(?))",  # noqa: S608
            [str(path)],
        ).fetchall()
    return [(*row[:4], round(row[4] * float(row[5]) / 100)) for row in rows]


@pytest.mark.parametrize(
    ("data", "reader"),
    [
        (ORDERS, "read_csv"),
        (b"a;b\n1;x\n2;\n;y\n", "read_csv"),
        (b"\xef\xbb\xbfday,ok,big\n2025-01-01,true,99999999999999999999\n2025-01-02,false,\n", "read_csv"),
        (parquet(MIXED), "read_parquet"),
        (parquet(MIXED, compression="zstd", row_group_size=2), "read_parquet"),
        (parquet(ODD), "read_parquet"),
    ],
)
def test_profile_equals_duckdbs_own(tmp_path: Path, data: bytes, reader: str) -> None:
    """Types, nulls, minima and maxima as DuckDB's SUMMARIZE has them on the same file."""
    path = tmp_path / "table"
    path.write_bytes(data)
    with opened(data) as table:
        ours = [(one.name, one.type, one.minimum, one.maximum, one.nulls) for one in table.profile.columns]
    assert ours == summarized(path, reader)


def test_late_odd_value_makes_the_column_text() -> None:
    """A type guessed from the first rows must not refuse a good file."""
    with opened(b"a,b\n" + b"1,2\n" * 30_000 + b"x,3\n") as table:
        assert [column.type for column in table.profile.columns] == ["VARCHAR", "BIGINT"]
        assert table.profile.rows == 30_001


def test_header_alone_is_a_table_without_rows() -> None:
    """An export of nothing is no mistake."""
    with opened(b"a,b,c\n") as table:
        assert table.profile.rows == 0
        assert [column.name for column in table.profile.columns] == ["a", "b", "c"]


GOOD = parquet({"a": list(range(2000)), "b": ["text"] * 2000})
BAD_INPUT = {
    "empty": (b"", "no bytes came"),
    "gzip": (gzip.compress(ORDERS), "gzip archive"),
    "gzip bomb": (gzip.compress(bytes(10_000_000)), "gzip archive"),
    "spreadsheet": (b"PK\x03\x04" + bytes(50), "spreadsheet"),
    "picture": (b"\x89PNG\r\n\x1a\n" + bytes(50), "PNG picture"),
    "utf-16": ("a,b\n1,2\n".encode("utf-16"), "UTF-16"),
    "latin-1": (ORDERS + "Grün,1,2,3,4\n".encode("latin-1"), rf"not UTF-8 at byte {len(ORDERS) + 2}"),
    "cut character": (ORDERS + b"\xc3", rf"not UTF-8 at byte {len(ORDERS)}"),
    "nul": (b"a,b\n1,\x00\n", "NUL byte at byte 6"),
    "garbage": (bytes(range(128, 256)) * 20, "not UTF-8 at byte 0"),
    "open quote": (b'a,b\n1,"x\n2,y\n', "CSV"),
    "more columns": (b"a,b,c\n1,2,3\n4,5,6,7,8\n", "CSV line 3: 3 columns expected, more found"),
    "fewer columns": (b"a,b,c\n1,2,3\n4,5\n", "CSV line 3: 3 columns expected, 2 found"),
    "magic alone": (b"PAR1", "without its footer"),
    "cut parquet": (GOOD[:-20], "without its footer"),
    "cut in half": (GOOD[: len(GOOD) // 2], "without its footer"),
    "footer length": (GOOD[:-8] + b"\xff\xff\xff\x7fPAR1", "do not fit the file"),
    "no footer": (b"PAR1" + bytes(4) + b"PAR1", "footer has 0 bytes"),
    "damaged footer": (GOOD[:-400] + b"\xff" * 300 + GOOD[-100:], "damaged pages or metadata"),
    "damaged page": (GOOD[:4] + b"\xff" * 200 + GOOD[204:], "damaged pages or metadata"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_names_the_fault(case: str) -> None:
    """The sender gets a sentence that says what and where, without DuckDB's words, our paths or the rows."""
    data, sentence = BAD_INPUT[case]
    with pytest.raises(BadMedia, match=sentence) as caught, opened(data, part=3):
        pass
    assert str(caught.value).startswith("table 3: ")
    assert not any(word in str(caught.value) for word in ("/tmp", "upload", "Possible", "\n"))  # noqa: S108
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("data", "changes", "limit"),
    [
        (ORDERS, {"max_bytes": 100}, "max_bytes"),
        (b"a\n" + b"1\n" * 50, {"max_rows": 49}, "max_rows"),
        (parquet({"a": list(range(50))}), {"max_rows": 49}, "max_rows"),
        (b",".join(b"c%d" % n for n in range(30)) + b"\n", {"max_columns": 29}, "max_columns"),
        (parquet({f"c{n}": [1] for n in range(30)}), {"max_columns": 29}, "max_columns"),
        (parquet({"a": ["x" * 100_000] * 20}), {"max_uncompressed_bytes": 50_000}, "max_uncompressed_bytes"),
        (parquet({f"c{n}": [1] for n in range(30)}), {"max_footer_bytes": 1000}, "max_footer_bytes"),
        (b'a,b\n1,2\n3,"' + b"x" * 300_000, {"max_line_bytes": 100_000}, "max_line_bytes"),
        (b'a,b\n1,2\n3,"' + b"x\n" * 150_000 + b'"\n', {"max_line_bytes": 100_000}, "max_line_bytes"),
        (parquet({"a": [str(n) * 2000 for n in range(20_000)]}), {"max_memory_bytes": 8_000_000}, "max_memory_bytes"),
    ],
)
def test_over_a_limit_names_it(data: bytes, changes: dict[str, Any], limit: str) -> None:
    """Small files that grow, and large ones, are told which setting they met."""
    with pytest.raises(TooLarge) as caught, opened(data, TableSettings(**changes)):
        pass
    assert caught.value.limit == f"intake.table.{limit}"


def test_parquet_that_claims_many_rows_is_refused_before_a_scan() -> None:
    """The footer is held to the limits before any page is read; here the pages are gone."""
    rows = parquet({"a": [1] * 1_000_000})
    start = rows.rindex(b"PAR1", 0, -4) if rows.count(b"PAR1") > 2 else 4
    hollow = rows[:start] + bytes(16) + rows[start + 16 :]
    with (
        pytest.raises(TooLarge, match=r"max_rows allows 1000, the input has 1000000"),
        opened(hollow, TableSettings(max_rows=1000)),
    ):
        pass


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
@given(data=st.data())
def test_any_damage_is_a_listed_error_or_a_table(data: st.DataObject) -> None:
    """No byte that a sender changes gives another error, or hurts the process."""
    whole = bytearray(data.draw(st.sampled_from([parquet(MIXED), ORDERS, GOOD])))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    try:
        with opened(bytes(whole[:cut] if data.draw(st.booleans()) else whole)) as table:
            table.sample(10, 320)
    except (BadMedia, TooLarge):
        pass


@given(data=st.data())
def test_upload_does_not_depend_on_where_it_was_cut(data: st.DataObject) -> None:
    """The same bytes are the same table, or the same fault at the same place."""
    whole = data.draw(st.sampled_from([ORDERS, "a,ü\nß,€\n".encode(), b"a,b\n1,\xff", b"a\n\x00", GOOD, b"", b"PA"]))

    def outcome(chunks: list[bytes]) -> tuple[object, str]:
        with Upload(1, TableSettings()) as upload:
            try:
                for chunk in chunks:
                    upload.feed(chunk)
                return upload.finish(), str(upload.bytes)
            except IntakeError as error:
                return type(error), str(error)

    assert outcome(data.draw(cut_bytes(whole))) == outcome([whole])


def test_upload_leaves_no_file_behind(tmp_path: Path) -> None:
    """Also after a fault."""
    limits = TableSettings(spool_folder=str(tmp_path))
    with Upload(1, limits) as upload:
        upload.feed(ORDERS)
        assert upload.finish() is TableFormat.CSV
        assert upload.path.parent.stat().st_mode & 0o777 == 0o700
        assert os.listdir(tmp_path)
    with pytest.raises(BadMedia), Upload(1, limits) as upload:
        upload.feed(b"\xff" * 100)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    "statement",
    [
        "FROM read_csv('/etc/passwd')",
        "FROM read_text('/etc/hostname')",
        "COPY t TO '/dev/null'",
        "ATTACH '/dev/null' AS other",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET memory_limit = '9GB'",
        "SET enable_external_access = true",
        "FROM glob('/*')",
    ],
)
def test_database_reaches_nothing_outside(statement: str) -> None:
    """Should a query ever be wrong, there is nothing to reach."""
    with opened(ORDERS) as table, pytest.raises(TableBroken):
        run(table, statement)


def run(table: Table, statement: str) -> None:
    with table._cursor() as cursor:
        cursor.execute(statement)


def test_slow_query_is_interrupted() -> None:
    """A query that takes for ever must give its thread back."""
    with opened(ORDERS, TableSettings(max_seconds=1)) as table, pytest.raises(TooLarge, match="max_seconds"):
        run(table, "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b")


def test_failed_table_is_closed() -> None:
    """A fault must not leave a database behind."""
    with Upload(1, TableSettings()) as upload:
        upload.feed(b"a,b,c\n1,2,3\n4,5\n")
        upload.finish()
        with pytest.raises(BadMedia):
            read_table(1, upload, TableSettings())
