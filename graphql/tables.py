"""Tables in the graph: an entity by id, with its columns, its profile and pages of its rows."""

import re
from typing import Annotated, Self, TypeAlias

import strawberry
from strawberry import federation

from headworks.graphql.context import RequestContext, RequestInfo
from headworks.graphql.ports import FilterFault, Row, RowPage, RowsRequest, TableView
from headworks.intake import finding
from headworks.intake.table.filters import Filter, Operator

CURSOR = re.compile(r"row:(0|[1-9][0-9]{0,17})")

strawberry.enum(Operator, name="FilterOperator", description="How a filter compares a cell with its value.")


@strawberry.type(description="One column of a table, as its profile has it.")
class Column:
    name: str
    type: str = strawberry.field(description='DuckDB\'s name of the type ("BIGINT", "VARCHAR", "DATE").')
    nulls: int = strawberry.field(description="Cells that are null.")
    distinct: int = strawberry.field(description="Distinct values, approximate.")
    minimum: str | None = strawberry.field(description="The least value as text; null when every cell is.")
    maximum: str | None = strawberry.field(description="The greatest value as text; null when every cell is.")

    @classmethod
    def of(cls, column: finding.Column) -> Self:
        return cls(
            name=column.name,
            type=column.type,
            nulls=column.nulls,
            distinct=column.distinct,
            minimum=column.minimum,
            maximum=column.maximum,
        )


@strawberry.type(description="The shape of a table.")
class Profile:
    format: str = strawberry.field(description='What was uploaded: "csv" or "parquet".')
    rows: int = strawberry.field(description="Rows in all.")


@strawberry.input(description="One condition on the rows of a page; several all hold.")
class RowFilter:
    column: str = strawberry.field(description="The column's name.")
    operator: Operator = strawberry.field(description="How to compare.")
    value: str | None = strawberry.field(
        default=None, description="As text, read as the column's type. Left out only with IS_NULL."
    )

    def to_port(self) -> Filter:
        return Filter(self.column, self.operator, self.value)


@strawberry.type(name="Row", description="One row of a table.")
class RowNode:
    number: int = strawberry.field(description="Where it stands in the table as uploaded, from 0.")
    values: list[str | None] = strawberry.field(description="Cells as text, in the order of the table's columns.")


@strawberry.type(description="A row with its place in the connection.")
class RowEdge:
    cursor: str = strawberry.field(description="For `after`.")
    node: RowNode

    @classmethod
    def of(cls, row: Row) -> Self:
        return cls(cursor=f"row:{row.number}", node=RowNode(number=row.number, values=list(row.values)))


@federation.type(shareable=True, description="Where a page stands in its connection.")
class PageInfo:
    has_next_page: bool
    has_previous_page: bool = strawberry.field(description="Always false going forward, as the Relay rules allow.")
    start_cursor: str | None
    end_cursor: str | None


@strawberry.type(description="A page of rows in the order of the upload.")
class RowConnection:
    edges: list[RowEdge]
    page_info: PageInfo

    @classmethod
    def of(cls, page: RowPage) -> Self:
        edges = [RowEdge.of(row) for row in page.rows]
        info = PageInfo(
            has_next_page=page.has_next,
            has_previous_page=False,
            start_cursor=edges[0].cursor if edges else None,
            end_cursor=edges[-1].cursor if edges else None,
        )
        return cls(edges=edges, page_info=info)


@strawberry.type(description="No such table, or none that the caller may see; nobody can tell which.")
class TableNotFound:
    id: strawberry.ID
    message: str

    @classmethod
    def of(cls, table_id: str) -> Self:
        return cls(id=strawberry.ID(table_id), message="no such table")


@strawberry.type(description="The table cannot be asked this.")
class BadFilter:
    filter: int | None = strawberry.field(description="Which of the filters, from 0; null when it is not known.")
    message: str


@strawberry.type(description="`first` or `after` cannot be used.")
class BadPage:
    argument: str = strawberry.field(description='Which one: "first" or "after".')
    message: str


RowsResult: TypeAlias = Annotated[RowConnection | BadFilter | BadPage | TableNotFound, strawberry.union("RowsResult")]


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
) -> RowConnection | BadFilter | BadPage | TableNotFound:
    request = read_page(info.context, root.id, filters or [], first, after)
    if not isinstance(request, RowsRequest):
        return request
    page = await info.context.tables.rows(request, info.context.caller)
    if page is None:
        return TableNotFound.of(root.id)
    if isinstance(page, FilterFault):
        return BadFilter(filter=page.filter, message=page.message)
    return RowConnection.of(page)


@federation.type(keys=["id"], description="A table that a turn brought in.")
class Table:
    id: strawberry.ID
    columns: list[Column] = strawberry.field(description="In the order of the upload.")
    profile: Profile = strawberry.field(description="The shape of the table.")
    rows: RowsResult = strawberry.field(resolver=_rows, description="A page of the rows that match every filter.")

    @classmethod
    def of(cls, view: TableView) -> Self:
        return cls(
            id=strawberry.ID(view.table_id),
            columns=[Column.of(column) for column in view.profile.columns],
            profile=Profile(format=view.profile.format, rows=view.profile.rows),
        )

    @classmethod
    async def resolve_reference(cls, info: RequestInfo, id: strawberry.ID) -> Self | None:  # noqa: A002
        """The entity behind a reference of another subgraph; null where `table` says TableNotFound."""
        view = await info.context.loader.load(id)
        return None if view is None else cls.of(view)


TableResult: TypeAlias = Annotated[Table | TableNotFound, strawberry.union("TableResult")]
