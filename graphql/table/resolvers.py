"""The table entity, and the resolvers of its fields."""

import re
from typing import Annotated, Self, TypeAlias

import strawberry
from strawberry import federation

from headworks.graphql.budget import VALUES_PER_STEP
from headworks.graphql.context import RequestContext, RequestInfo
from headworks.graphql.ports.tables import FilterFault, Row, RowPage, RowsFault, RowsRequest, TableView
from headworks.graphql.table.types import (
    BadFilter,
    BadPage,
    Column,
    Profile,
    RowConnection,
    RowFilter,
    RowsFailed,
    RowsResult,
    TableNotFound,
)

VALUE_BYTES = 3
"""Quotes and a comma."""
ROW_BYTES = 56
"""An edge with its cursor, its node and their names: `{"cursor":"row:0","node":{"number":0,"values":[]}},`."""
COLUMN_BYTES = 80
"""The names of a column's fields, and its figures."""
CURSOR = re.compile(r"row:(0|[1-9][0-9]{0,17})")


def read_page(
    context: RequestContext, table_id: str, filters: list[RowFilter], first: int, after: str | None
) -> RowsRequest | BadFilter | BadPage:
    """Turn arguments into a request within the limits. Pure."""
    limits = context.settings
    if not 1 <= first <= limits.max_first:
        return BadPage(argument="first", message=f"first is from 1 to {limits.max_first} (graphql.max_first)")
    if len(filters) > limits.max_filters:
        message = f"graphql.max_filters allows {limits.max_filters}, the page has {len(filters)}"
        return BadFilter(filter=limits.max_filters, message=message)
    cursor = CURSOR.fullmatch(after) if after is not None else None
    if after is not None and cursor is None:
        return BadPage(argument="after", message="after is no cursor of this connection")
    number = int(cursor.group(1)) if cursor else None
    return RowsRequest(table_id, tuple(each.to_port() for each in filters), first, number)


async def _rows(
    root: strawberry.Parent["Table"],
    info: RequestInfo,
    first: Annotated[int, strawberry.argument(description="Rows in the page, from 1.")] = 50,
    after: Annotated[str | None, strawberry.argument(description="A cursor to go on from.")] = None,
    filters: Annotated[list[RowFilter] | None, strawberry.argument(description="All of them hold.")] = None,
) -> RowConnection | BadFilter | BadPage | TableNotFound | RowsFailed:
    request = read_page(info.context, root.id, filters or [], first, after)
    if not isinstance(request, RowsRequest):
        return request
    context = info.context
    async with context.budget.reading():
        page = await context.tables.rows(request, context.caller)
        context.budget.spend(size_of(page.rows) if isinstance(page, RowPage) else 0)
    match page:
        case RowPage():
            return RowConnection.of(page)
        case FilterFault():
            return BadFilter(filter=page.filter, message=page.message)
        case RowsFault():
            return RowsFailed(code=page.code, message=page.message)
        case None:
            return TableNotFound.of(root.id)


def size_of(rows: tuple[Row, ...]) -> int:
    """Return the least that rows take as JSON. Pure, and quick: all text is counted as ASCII without escapes."""
    return sum(sum(map(len, filter(None, row.values))) + VALUE_BYTES * len(row.values) + ROW_BYTES for row in rows)


async def _columns(root: strawberry.Parent["Table"], info: RequestInfo) -> list[Column]:
    columns, budget = root.view.profile.columns, info.context.budget
    texts = (text for one in columns for text in (one.name, one.type, one.minimum, one.maximum) if text)
    budget.spend(sum(map(len, texts)) + COLUMN_BYTES * len(columns))
    await budget.rest(VALUES_PER_STEP)
    return [Column.of(column) for column in columns]


@federation.type(keys=["id"], description="A table that a turn brought in.")
class Table:
    id: strawberry.ID
    columns: list[Column] = strawberry.field(resolver=_columns, description="In the order of the upload.")
    profile: Profile = strawberry.field(description="The shape of the table.")
    rows: RowsResult = strawberry.field(resolver=_rows, description="A page of the rows that match every filter.")
    view: strawberry.Private[TableView]

    @classmethod
    def of(cls, view: TableView) -> Self:
        return cls(
            id=strawberry.ID(view.table_id),
            profile=Profile(format=view.profile.format, rows=view.profile.rows),
            view=view,
        )

    @classmethod
    async def resolve_reference(cls, info: RequestInfo, id: strawberry.ID) -> Self | None:  # noqa: A002
        """Return the entity behind a reference of another subgraph; null where `table` says TableNotFound."""
        view = await info.context.loader.load(id)
        return None if view is None else cls.of(view)


TableResult: TypeAlias = Annotated[Table | TableNotFound, strawberry.union("TableResult")]


async def table(
    info: RequestInfo,
    id: Annotated[strawberry.ID, strawberry.argument(description="From `read` of a turn.")],  # noqa: A002
) -> Table | TableNotFound:
    view = await info.context.loader.load(id)
    return TableNotFound.of(id) if view is None else Table.of(view)
