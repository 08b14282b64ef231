"""Answers have a size, and large ones let others run while they are made."""

import asyncio
import json
from collections.abc import Awaitable
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.graphql.encoding import AnswerTooLarge, encode
from headworks.graphql.execution import Graph, GraphqlAnswer, GraphqlRequest
from headworks.graphql.ports.tables import Row, RowPage, RowsRequest, TableView
from headworks.graphql.settings import GraphqlSettings
from headworks.intake.finding import Column, TableProfile
from headworks.policy.identity.caller import Caller
from tests.fakes.graph import ADA, AnsweringTurns, RecordingGraphqlObserver

T = TypeVar("T")
PAGE = "rows(first: 200) { ... on RowConnection { edges { cursor node { number values } } } }"
COLUMNS = "columns { name type nulls distinct minimum maximum }"
LIMIT = GraphqlSettings().max_answer_bytes
WIDEST = 1_000
"""Columns; `intake.table.max_columns` allows so many."""


class BigTables:
    """Every table there is has pages of one shape."""

    def __init__(self, rows: int, columns: int, cell: str | None) -> None:
        self.reads = 0
        self.reading = 0
        self._page = RowPage(tuple(Row(number, (cell,) * columns) for number in range(rows)), has_next=True)
        column = Column("c", "VARCHAR", 0, 1, cell, cell)
        self._profile = TableProfile("csv", rows, (column,) * columns)

    async def tables(self, table_ids: tuple[str, ...], caller: Caller) -> tuple[TableView | None, ...]:
        return tuple(TableView(each, self._profile) for each in table_ids)

    async def rows(self, request: RowsRequest, caller: Caller) -> RowPage:
        assert self.reading == 0, "pages of one request are read one after the other"
        self.reading += 1
        await asyncio.sleep(0)
        self.reading -= 1
        self.reads += 1
        return self._page


async def answer(tables: BigTables, query: str, **variables: Any) -> GraphqlAnswer:
    observer = RecordingGraphqlObserver()
    graph = Graph(GraphqlSettings(), tables, observer)
    answered = await graph.answer(GraphqlRequest(query, variables), ADA, AnsweringTurns())
    assert observer.faults == []
    return answered


def aliased(field: str, times: int) -> str:
    fields = " ".join(f"a{number}: {field}" for number in range(times))
    return f'{{ table(id: "big") {{ ... on Table {{ {fields} }} }} }}'


def codes(answered: GraphqlAnswer) -> set[str]:
    return {error["extensions"]["code"] for error in json.loads(answered.body)["errors"]}


async def turns_during(work: Awaitable[T]) -> tuple[T, int]:
    """Return what work comes to, and how often the event loop turned meanwhile."""
    turned, task = 0, asyncio.ensure_future(work)
    while not task.done():
        turned += 1
        await asyncio.sleep(0)
    return task.result(), turned


async def test_pages_that_are_too_large_together_are_no_longer_read() -> None:
    """14 aliases of a page of wide cells came to 140 MB; now the pages after the one too many are not even read."""
    tables = BigTables(rows=20, columns=10, cell="x" * 5_000)
    answered = await answer(tables, aliased(PAGE, 14))
    assert codes(answered) == {"ANSWER_TOO_LARGE"}
    assert "graphql.max_answer_bytes allows 4194304" in answered.body.decode()
    assert tables.reads == 5
    assert len(answered.body) < 10_000


async def test_pages_within_the_limit_are_answered_whole() -> None:
    """The limit is on the answer, not on the number of its pages."""
    tables = BigTables(rows=20, columns=10, cell="x" * 5_000)
    answered = await answer(tables, aliased(PAGE, 4))
    assert len(answered.body) > LIMIT * 0.9
    table = json.loads(answered.body)["data"]["table"]
    assert all(len(table[alias]["edges"]) == 20 for alias in ("a0", "a1", "a2", "a3"))


@pytest.mark.parametrize("cell", ["\0", "\U0001f600", '"'], ids=["escaped", "four bytes each", "quotes"])
async def test_text_that_grows_when_it_is_written_has_the_limit_too(cell: str) -> None:
    """It is counted as it is written: one character can come to six bytes."""
    answered = await answer(BigTables(rows=10, columns=1, cell=cell * 300_000), aliased(PAGE, 1))
    assert codes(answered) == {"ANSWER_TOO_LARGE"}
    assert not answered.has_data


async def test_columns_count_as_rows_do() -> None:
    """Fifty tables of a thousand columns each would be megabytes of names."""
    references = [{"__typename": "Table", "id": str(number)} for number in range(50)]
    query = f"query E($r: [_Any!]!) {{ _entities(representations: $r) {{ ... on Table {{ {COLUMNS} }} }} }}"
    answered = await answer(BigTables(1, WIDEST, "x" * 40), query, r=references)
    assert codes(answered) == {"ANSWER_TOO_LARGE"}
    assert len(answered.body) < LIMIT


@pytest.mark.parametrize("cell", ["12345", None])
async def test_others_run_between_the_rows_of_a_wide_page(cell: str | None) -> None:
    """Writing 200,000 cells in one go would stop every other caller for most of a second."""
    _, turned = await turns_during(answer(BigTables(rows=200, columns=WIDEST, cell=cell), aliased(PAGE, 1)))
    assert turned > 100


async def test_others_run_between_tables() -> None:
    """Their columns are written table by table."""
    references = [{"__typename": "Table", "id": str(number)} for number in range(20)]
    query = f"query E($r: [_Any!]!) {{ _entities(representations: $r) {{ ... on Table {{ {COLUMNS} }} }} }}"
    answered, turned = await turns_during(answer(BigTables(1, 300, "x"), query, r=references))
    assert answered.has_data
    assert turned > 20


async def test_others_run_while_a_large_answer_is_written() -> None:
    """Megabytes of JSON take tens of milliseconds."""
    large: dict[str, object] = {"data": {"rows": [{"values": ["x" * 1_000] * 10} for _ in range(300)]}}
    body, turned = await turns_during(encode(large, LIMIT))
    assert json.loads(body) == large
    assert turned > 40


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=30,
)


@given(st.dictionaries(st.text(), values, max_size=4))
def test_writing_in_steps_changes_nothing(response: dict[str, Any]) -> None:
    """What comes back is what json itself would have written."""
    body = asyncio.run(encode(response, LIMIT))
    assert json.loads(body) == response
    with pytest.raises(AnswerTooLarge):
        asyncio.run(encode(response, len(body) - 1))


def test_a_lone_surrogate_is_written_as_its_escape() -> None:
    """It is no text, and UTF-8 has no bytes for it; the answer stays one that every parser takes."""
    body = asyncio.run(encode({"a": ["\ud800", "ü"]}, LIMIT))
    assert body == b'{"a":["\\ud800","\xc3\xbc"]}'
