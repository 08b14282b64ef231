"""The types around a table: columns, profile, rows, and what can be wrong with asking for them."""

from typing import Annotated, Self, TypeAlias

import strawberry
from strawberry import federation

from headworks.graphql.context import RequestInfo
from headworks.graphql.ports.tables import Row, RowPage
from headworks.intake import finding
from headworks.intake.table.filters import Filter, Operator

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
    row: strawberry.Private[Row]

    @strawberry.field
    async def node(self, info: RequestInfo) -> RowNode:
        await info.context.budget.rest(len(self.row.values))
        return RowNode(number=self.row.number, values=list(self.row.values))

    @classmethod
    def of(cls, row: Row) -> Self:
        return cls(cursor=f"row:{row.number}", row=row)


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


@strawberry.type(description="The rows could not be read, or not so many of them.")
class RowsFailed:
    code: str = strawberry.field(description='The reason ("TOO_LARGE"), as gRPC clients see it.')
    message: str


RowsResult: TypeAlias = Annotated[
    RowConnection | BadFilter | BadPage | TableNotFound | RowsFailed, strawberry.union("RowsResult")
]
