"""A table part from bytes to spans."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.intake.errors import BadMedia
from headworks.intake.finding import Column, Read, TableProfile
from headworks.intake.span import Modality, TableOrigin
from headworks.intake.table.preprocessor import TablePreprocessor
from headworks.intake.table.settings import TableSettings, TableStoreSettings
from headworks.intake.table.store import TableStore
from headworks.intake.table.table import Table
from headworks.intake.table.text import write_text
from headworks.intake.work import WorkPool, WorkSettings
from tests.intake.table.test_table import ORDERS


def words(text: str) -> int:
    return len(text.split())


@pytest.fixture
def tables() -> Iterator[TableStore]:
    store = TableStore(TableStoreSettings())
    yield store
    store.close()


async def read(data: bytes, tables: TableStore, settings: TableSettings, step: int = 100) -> list[Read]:
    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(data), step):
            yield data[start : start + step]

    pool = WorkPool("table", WorkSettings())
    try:
        found = [one async for one in TablePreprocessor(1, "acme", tables, pool, words, settings).process(chunks())]
    finally:
        pool.close()
    assert all(isinstance(one, Read) for one in found)
    return [one for one in found if isinstance(one, Read)]


async def test_table_becomes_profile_and_rows(tables: TableStore) -> None:
    """The model reads the shape of the table first, then whole rows, and is told that none is left out."""
    (found,) = await read(ORDERS, tables, TableSettings())
    assert tables.get(found.table_id, "acme") == found.profile
    profile, rows = found.spans
    assert profile.text.splitlines()[:3] == [
        "12 rows, 5 columns (csv)",
        "month: VARCHAR, 2025-01 to 2025-12, about 12 distinct",
        "orders: BIGINT, 388 to 742, about 12 distinct",
    ]
    assert rows.text.splitlines()[3] == "2025-03 | 467 | 459 | 14 | 23310.4"
    assert rows.text.splitlines()[-1] == "2025-12 | 742 | null | 38 | 37003.1"
    assert rows.origin == TableOrigin(0, 12, ("month", "orders", "shipped", "returned", "revenue"))
    assert profile.modality is Modality.TABLE
    assert profile.confidence is None


async def test_rows_that_do_not_fit_are_counted(tables: TableStore) -> None:
    """A model that sees four rows must not believe that there are four."""
    (found,) = await read(ORDERS, tables, TableSettings(max_prompt_tokens=85))
    rows = found.spans[1]
    assert isinstance(rows.origin, TableOrigin)
    assert 0 < rows.origin.end_row < 12
    assert rows.text.endswith(f"({12 - rows.origin.end_row} more rows)")


async def test_bad_table_leaves_nothing_behind(tables: TableStore) -> None:
    """No file, no database, and the pool works on."""
    with pytest.raises(BadMedia):
        await read(b"a,b,c\n1,2,3\n4,5\n", tables, TableSettings())
    assert (await read(b"a,b\n1,2\n", tables, TableSettings()))[0].profile.rows == 1


class SlowCount:
    """Counts words, once it is let go."""

    def __init__(self) -> None:
        self.is_asked = threading.Event()
        self.may_answer = threading.Event()

    def __call__(self, text: str) -> int:
        self.is_asked.set()
        self.may_answer.wait(10)
        return words(text)


class CountingStore(TableStore):
    """Remembers how many tables it was given."""

    given = 0

    def put(self, table: Table, owner: str) -> str:
        self.given += 1
        return super().put(table, owner)


async def test_table_of_a_cancelled_turn_is_not_kept() -> None:
    """A turn that ends while its table is read leaves nothing in the store."""
    store, count, pool = CountingStore(TableStoreSettings()), SlowCount(), WorkPool("table", WorkSettings())

    async def chunks() -> AsyncIterator[bytes]:
        yield ORDERS

    async def consume() -> None:
        async for _ in TablePreprocessor(1, "acme", store, pool, count, TableSettings()).process(chunks()):
            pass

    task = asyncio.create_task(consume())
    await asyncio.to_thread(count.is_asked.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    count.may_answer.set()
    await pool.run(words, "the job before has ended")
    assert store.given == 0
    pool.close()


cells = st.none() | st.text("ab |\n\t", max_size=20)


@given(
    rows=st.lists(st.tuples(cells, cells), max_size=12),
    hidden=st.integers(0, 5),
    columns=st.integers(2, 2),
    budget=st.integers(1, 120),
)
def test_text_fits_its_budget(rows: list[tuple[str | None, ...]], hidden: int, columns: int, budget: int) -> None:
    """Rows come whole or not at all, and shown and left out add up."""
    names = [Column(f"column {n}", "VARCHAR", 0, 1, "a", "b") for n in range(columns)]
    profile = TableProfile("csv", len(rows) + hidden, tuple(names))
    text = write_text(profile, rows, words, TableSettings(max_prompt_tokens=budget))
    assert words(text.profile) + words(text.rows) <= max(budget, 5 + 3)
    lines = text.rows.splitlines()
    left_out = profile.rows - text.shown_rows
    if text.rows:
        assert len(lines) == 1 + text.shown_rows + bool(left_out)
    if text.shown_rows and left_out:
        assert lines[-1].startswith(f"({left_out} more row")
