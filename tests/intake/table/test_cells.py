"""The length of texts, told before they are written."""

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headworks.intake.errors import BadMedia
from headworks.intake.table.table import Table
from tests.intake.table.tables import opened, parquet

SCALARS = [
    (pa.bool_(), st.booleans()),
    (pa.int8(), st.integers(-128, 127)),
    (pa.uint8(), st.integers(0, 255)),
    (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.float32(), st.floats(width=32)),
    (pa.float64(), st.floats()),
    (pa.decimal128(38, 10), st.decimals(-(10**27), 10**27, places=10)),
    (pa.date32(), st.dates()),
    (pa.timestamp("us"), st.datetimes()),
    (pa.timestamp("us", tz="UTC"), st.datetimes(timezones=st.just(datetime.UTC))),
    (pa.time64("us"), st.times()),
    (pa.string(), st.text("aü'\"\\,[]{}= \n", max_size=12)),
    (pa.binary(), st.binary(max_size=12)),
]


def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Types with their values: lists, records and maps of what there is."""
    return st.one_of(
        inner.map(lambda one: (pa.list_(one[0]), st.lists(st.none() | one[1], max_size=5))),
        inner.map(
            lambda one: (
                pa.map_(pa.string(), one[0]),
                st.dictionaries(st.text("k='", max_size=3), one[1], max_size=3).map(lambda d: list(d.items())),
            )
        ),
        st.tuples(inner, inner).map(
            lambda two: (
                pa.struct([("a 'name'", two[0][0]), ("b", two[1][0])]),
                st.fixed_dictionaries({"a 'name'": st.none() | two[0][1], "b": two[1][1]}),
            )
        ),
    )


def texts(table: Table, limit: int) -> list[str | None]:
    return [row[0] for row in table.sample(100, limit)]


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=100)
@given(data=st.data())
def test_no_text_is_longer_than_its_bound(data: st.DataObject) -> None:
    """Nothing else stands between one small file and gigabytes of text."""
    kind, values = data.draw(st.recursive(st.sampled_from(SCALARS), grow, max_leaves=4))
    column = pa.array(data.draw(st.lists(st.none() | values, min_size=1, max_size=4)), kind)
    limit = data.draw(st.integers(1, 60))
    with opened(parquet({"c": column})) as table:
        (cell,) = table._cells
        with table._cursor() as cursor:
            found = cursor.execute(f"SELECT {cell.size}, length({cell.text}), {cell.text} FROM t").fetchall()  # noqa: S608
        assert all(bound >= (4 if length is None else length) for bound, length, _ in found)
        shown = texts(table, limit)
        for (_, _, whole), text in zip(found, shown, strict=True):
            assert whole == text or (text is not None and whole.startswith(text[:-1]) and text.endswith("…"))
            assert text is None or len(text) <= limit or not table._cells[0].can_grow


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([[0] * 100_000], "[0, 0, 0, "),
        ([["x" * 10] * 100_000], "[xxxxxxxxxx, "),
        ([[[1] * 1000] * 1000], ""),
        ([b"\x00" * 1_000_000], ""),
        ([[{"a long name of a field": None}] * 100_000], "[{'a long name of a field': NULL}, "),
        (["x" * 1_000_000], "xxxxxxxxx"),
        ([[Decimal("1.5")] * 100_000], "[1.5, "),
    ],
)
def test_long_value_is_cut_and_says_so(values: list[Any], shown: str) -> None:
    """A model, or a caller, must not take the beginning for the whole."""
    with opened(parquet({"c": values})) as table:
        (text,) = texts(table, 200)
    assert text is not None
    assert text.startswith(shown)
    assert text.endswith("…")
    assert len(text) <= 200


@pytest.mark.parametrize(
    "shape",
    ["POINT (-1.2345678901234567e-300 -1e300)", "GEOMETRYCOLLECTION (POINT EMPTY, POLYGON EMPTY)", "POINT Z (1 2 3)"],
)
def test_shapes_have_a_bound_too(tmp_path: Path, shape: str) -> None:
    """They come as GeoParquet; DuckDB shows them as WKT."""
    with opened(written(tmp_path, f"'{shape}'::GEOMETRY")) as table:
        (cell,) = table._cells
        with table._cursor() as cursor:
            bound, length = cursor.execute(f"SELECT {cell.size}, length({cell.text}) FROM t").fetchall()[0]  # noqa: S608
    assert bound >= length


def test_type_without_a_bound_is_refused(tmp_path: Path) -> None:
    """A text that may have any length has no place in a page."""
    data = written(tmp_path, "{'a': 1}::VARIANT")
    with pytest.raises(BadMedia, match="column 1 is of a type that is not read here"), opened(data):
        pass


def written(folder: Path, value: str) -> bytes:
    """A Parquet file of one column that pyarrow cannot write."""
    path = folder / "table.parquet"
    with duckdb.connect() as database:
        database.execute(f"COPY (SELECT {value} AS c) TO '{path}'")
    return path.read_bytes()
