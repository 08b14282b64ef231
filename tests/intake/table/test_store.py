"""Tables that are kept for their owners."""

import datetime
import os
from collections.abc import Iterator
from decimal import Decimal

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from headworks.intake.errors import TooLarge
from headworks.intake.table.filters import BadFilter, Filter, Operator
from headworks.intake.table.settings import TableSettings, TableStoreSettings
from headworks.intake.table.store import TableStore, UnknownTable
from headworks.intake.table.table import Table, read_table
from headworks.intake.table.upload import Upload
from tests.intake.table.tables import parquet
from tests.intake.table.test_table import MIXED, ORDERS


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def read(data: bytes) -> Table:
    with Upload(1, TableSettings()) as upload:
        upload.feed(data)
        upload.finish()
        return read_table(1, upload, TableSettings())


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tables(clock: Clock) -> Iterator[TableStore]:
    store = TableStore(TableStoreSettings(max_tables=2, max_age_seconds=60), clock)
    yield store
    store.close()


def test_owner_gets_profile_and_rows(tables: TableStore) -> None:
    """What a turn sent can be looked at from GraphQL afterwards."""
    table_id = tables.put(read(ORDERS), "acme")
    assert tables.get(table_id, "acme").rows == 12
    page = tables.rows(table_id, "acme", [], first=1)
    assert page.columns == ("month", "orders", "shipped", "returned", "revenue")
    assert page.rows == ((0, ("2025-01", "412", "405", "11", "20548.2")),)
    assert page.has_more


def test_unknown_and_foreign_ids_look_the_same(tables: TableStore) -> None:
    """An id must not tell that another tenant has such a table."""
    table_id = tables.put(read(ORDERS), "acme")
    with pytest.raises(UnknownTable) as foreign:
        tables.get(table_id, "globex")
    with pytest.raises(UnknownTable) as unknown:
        tables.rows("nothing", "globex", [])
    assert str(foreign.value) == str(unknown.value)


def test_pages_join_to_the_whole(tables: TableStore) -> None:
    """A connection over the rows loses none and repeats none."""
    table_id = tables.put(read(ORDERS), "acme")
    seen, after, has_more = [], -1, True
    while has_more:
        page = tables.rows(table_id, "acme", [], first=5, after=after)
        seen += [number for number, _ in page.rows]
        after, has_more = page.rows[-1][0], page.has_more
    assert seen == list(range(12))


@pytest.mark.parametrize(
    ("filters", "months"),
    [
        ([Filter("orders", Operator.GT, "600")], ["2025-11", "2025-12"]),
        ([Filter("orders", Operator.GE, "688"), Filter("orders", Operator.LT, "742")], ["2025-11"]),
        ([Filter("month", Operator.EQ, "2025-03")], ["2025-03"]),
        ([Filter("month", Operator.CONTAINS, "-1")], ["2025-10", "2025-11", "2025-12"]),
        ([Filter("returned", Operator.IS_NULL)], ["2025-06"]),
        ([Filter("shipped", Operator.LE, "380")], ["2025-02"]),
        (
            [Filter("orders", Operator.NE, "412"), Filter("orders", Operator.LT, "420")],
            ["2025-02", "2025-08"],
        ),
        ([Filter("month", Operator.EQ, "' OR 1=1 --")], []),
    ],
)
def test_filters_compare_by_type(tables: TableStore, filters: list[Filter], months: list[str]) -> None:
    """Numbers compare as numbers, and a value is never SQL."""
    table_id = tables.put(read(ORDERS), "acme")
    assert [row[0] for _, row in tables.rows(table_id, "acme", filters).rows] == months


@pytest.mark.parametrize(
    ("one", "numbers"),
    [
        (Filter("whole", Operator.GT, "1.5"), [1, 2]),
        (Filter("whole", Operator.EQ, "1.5"), []),
        (Filter("whole", Operator.LE, "2.0"), [0, 1]),
        (Filter("whole", Operator.GE, "1e0"), [0, 1, 2]),
        (Filter("price", Operator.EQ, "2.254"), []),
        (Filter("price", Operator.LT, "2.254"), [0, 1]),
        (Filter("price", Operator.LE, "1.5"), [0]),
        (Filter("day", Operator.GT, "2025-01-01 13:00:00"), [1, 2]),
        (Filter("day", Operator.EQ, "2025-01-01 13:00:00"), []),
        (Filter("day", Operator.EQ, "2025-01-01"), [0]),
        (Filter("huge", Operator.GT, "9223372036854775806.5"), [2]),
    ],
)
def test_value_of_a_filter_is_not_rounded(tables: TableStore, one: Filter, numbers: list[int]) -> None:
    """DuckDB casts 1.5 to the integer 2, and then nothing is between 1.5 and 2."""
    columns = {
        "whole": [1, 2, 3],
        "price": [Decimal("1.50"), Decimal("2.25"), Decimal("9.99")],
        "day": [datetime.date(2025, 1, day) for day in (1, 2, 3)],
        "huge": [1, 2, 2**63 - 1],
    }
    table_id = tables.put(read(parquet(columns)), "acme")
    assert [number for number, _ in tables.rows(table_id, "acme", [one]).rows] == numbers


@pytest.mark.parametrize(
    "bad",
    [
        Filter("month; DROP TABLE t", Operator.EQ, "1"),
        Filter("orders", Operator.GT, "many"),
        Filter("orders", Operator.GT),
        Filter("orders", Operator.GT, "1e-999999999"),
        Filter("orders", Operator.GT, "nan"),
        Filter("orders", Operator.GT, "1e999999999"),
        Filter("tags", Operator.EQ, "x"),
    ],
)
def test_filter_that_does_not_fit_is_the_callers_fault(tables: TableStore, bad: Filter) -> None:
    """One sentence, without the value."""
    columns = MIXED | {"orders": [1, 2, 3, 4]}
    table_id = tables.put(read(parquet(columns)), "acme")
    with pytest.raises(BadFilter) as caught:
        tables.rows(table_id, "acme", [bad])
    assert "many" not in str(caught.value)
    assert tables.rows(table_id, "acme", [], first=1).rows


def test_odd_column_names_are_only_names(tables: TableStore) -> None:
    """A header is content too."""
    odd = 'a" FROM t; --'
    table_id = tables.put(read(parquet({odd: [1, 2]})), "acme")
    assert tables.rows(table_id, "acme", [Filter(odd, Operator.EQ, "2")]).rows == ((1, ("2",)),)


def test_least_recently_used_table_goes_first(tables: TableStore) -> None:
    """The limit on tables holds whatever peers send."""
    first, second = (tables.put(read(b"a\n1\n"), "acme") for _ in range(2))
    tables.get(first, "acme")
    tables.put(read(b"a\n1\n"), "acme")
    assert tables.get(first, "acme").rows == 1
    with pytest.raises(UnknownTable):
        tables.get(second, "acme")


def test_old_tables_go(tables: TableStore, clock: Clock) -> None:
    """Content is not kept longer than the settings say."""
    table_id = tables.put(read(b"a\n1\n"), "acme")
    clock.now = 61
    with pytest.raises(UnknownTable):
        tables.get(table_id, "acme")


def test_page_ends_where_it_would_be_too_long(clock: Clock) -> None:
    """A page of wide rows was an answer of 140 MB; the rest comes with the next page, and nothing is lost."""
    store = TableStore(TableStoreSettings(max_page_characters=500), clock)
    cells = [str(number) * 90 for number in range(10)]
    table_id = store.put(read("\n".join(["a,b", *(f"{cell},1" for cell in cells)]).encode()), "acme")
    seen: list[str | None] = []
    pages, after, has_more = 0, -1, True
    while has_more:
        page = store.rows(table_id, "acme", [], first=10, after=after)
        assert sum(len(cell or "") for _, row in page.rows for cell in row) <= 500
        seen += [row[0] for _, row in page.rows]
        pages, after, has_more = pages + 1, page.rows[-1][0], page.has_more
    assert seen == cells
    assert pages == 2
    store.close()


def test_row_longer_than_a_page_is_cut(clock: Clock) -> None:
    """Each cell has its share, so that such a row is no end for those who go on from page to page."""
    store = TableStore(TableStoreSettings(max_page_characters=1000), clock)
    table_id = store.put(read(parquet({"a": ["x" * 5000, "y"], "b": [[0] * 5000, [1]]})), "acme")
    page = store.rows(table_id, "acme", [], first=2)
    ((_, (text, numbers)),) = page.rows
    assert text == "x" * 499 + "…"
    assert numbers is not None
    assert numbers.startswith("[0, 0, 0")
    assert numbers.endswith("…")
    assert len(numbers) <= 500
    assert page.has_more
    assert store.rows(table_id, "acme", [], first=2, after=0).rows == ((1, ("y", "[1]")),)
    store.close()


LISTS = {"id": list(range(1000)), "zeros": pa.array([[0] * 20_000] * 1000, pa.list_(pa.int8()))}


@pytest.mark.parametrize("filters", [1, 16])
def test_filter_over_too_much_text_is_refused(tables: TableStore, filters: int) -> None:
    """DuckDB made 4.4 GB of text of a file of two kilobytes, in 65 s that nothing could interrupt."""
    table_id = tables.put(read(parquet(LISTS)), "acme")
    with pytest.raises(TooLarge, match=r"intake\.table\.max_text_characters"):
        tables.rows(table_id, "acme", [Filter("zeros", Operator.CONTAINS, "1")] * filters)
    assert [number for number, _ in tables.rows(table_id, "acme", [Filter("id", Operator.GT, "998")]).rows] == [999]


def test_filter_over_lists_finds_text_that_a_page_would_cut(clock: Clock) -> None:
    """The whole value is searched."""
    store = TableStore(TableStoreSettings(max_page_characters=100), clock)
    table_id = store.put(read(parquet({"tags": [["a"] * 200, ["a"] * 200 + ["needle"]]})), "acme")
    assert [
        number for number, _ in store.rows(table_id, "acme", [Filter("tags", Operator.CONTAINS, "needle")]).rows
    ] == [1]
    store.close()


def test_table_dropped_during_a_request_is_unknown(tables: TableStore) -> None:
    """Between finding a table and asking it, another may push it out."""
    table = read(ORDERS)
    table_id = tables.put(table, "acme")
    table.close()
    with pytest.raises(UnknownTable):
        tables.rows(table_id, "acme", [])


def test_kept_tables_have_no_threads() -> None:
    """DuckDB starts eight for reading files, for each database; 64 tables had 512."""
    before = len(os.listdir("/proc/self/task"))
    kept = [read(ORDERS) for _ in range(4)]
    assert len(os.listdir("/proc/self/task")) == before
    for table in kept:
        table.close()


def test_databases_of_small_tables_count() -> None:
    """A database takes some megabytes that DuckDB does not count, so that 64 of them were half a gigabyte."""
    store = TableStore(TableStoreSettings(max_bytes=20_000_000))
    first, _, third = (store.put(read(b"a\n1\n"), "acme") for _ in range(3))
    assert store.get(third, "acme").rows == 1
    with pytest.raises(UnknownTable):
        store.get(first, "acme")
    store.close()


def test_bytes_of_all_tables_are_bounded() -> None:
    """Many large tables must not add up."""
    table, other = read(b"a\n" + b"12345\n" * 200_000), read(b"a\n" + b"12345\n" * 200_000)
    store = TableStore(TableStoreSettings(max_bytes=int(1.5 * table.memory_bytes)))
    first = store.put(table, "acme")
    store.put(other, "acme")
    with pytest.raises(UnknownTable):
        store.get(first, "acme")
    with pytest.raises(TooLarge, match=r"intake\.tables\.max_bytes"):
        TableStore(TableStoreSettings(max_bytes=1)).put(read(b"a\n1\n"), "acme")
    store.close()


def test_too_long_a_page_is_refused(tables: TableStore) -> None:
    """The limit has a name."""
    table_id = tables.put(read(b"a\n1\n"), "acme")
    with pytest.raises(TooLarge, match="max_rows_per_query allows 500"):
        tables.rows(table_id, "acme", [], first=501)
