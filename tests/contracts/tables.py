"""What every `Tables` must do."""

from headworks.graphql.ports.tables import FilterFault, Row, RowPage, RowsRequest, Tables
from headworks.intake.table.filters import Filter, Operator
from headworks.policy.identity.caller import Caller

CSV = b"month,orders\nJanuary,120\nFebruary,\nMarch,310\nApril,205\n"
"""The table that the contract is checked on."""
ROWS = (("January", "120"), ("February", None), ("March", "310"), ("April", "205"))


async def check_tables(tables: Tables, table_id: str, owner: Caller, stranger: Caller) -> None:
    """Run the contract on one store.

    Args:
        tables: It holds `CSV` under `table_id`, for the owner's tenant, and nothing else.
        stranger: Of another tenant.
    """
    await _lookups_keep_their_order(tables, table_id, owner)
    await _a_profile_is_that_of_the_upload(tables, table_id, owner)
    await _pages_join_up_to_the_table(tables, table_id, owner)
    await _filtered_rows_keep_their_numbers(tables, table_id, owner)
    await _a_filter_that_cannot_be_asked_is_a_fault(tables, table_id, owner)
    await _a_strangers_table_is_no_table(tables, table_id, owner, stranger)


def rows_of(table_id: str, *filters: Filter, first: int = 10, after: int | None = None) -> RowsRequest:
    return RowsRequest(table_id, filters, first, after)


async def _lookups_keep_their_order(tables: Tables, table_id: str, owner: Caller) -> None:
    found = await tables.tables((table_id, "missing", table_id), owner)
    assert [view and view.table_id for view in found] == [table_id, None, table_id]
    assert await tables.tables((), owner) == ()


async def _a_profile_is_that_of_the_upload(tables: Tables, table_id: str, owner: Caller) -> None:
    (view,) = await tables.tables((table_id,), owner)
    assert view is not None
    assert (view.profile.format, view.profile.rows) == ("csv", 4)
    assert [(column.name, column.type, column.nulls) for column in view.profile.columns] == [
        ("month", "VARCHAR", 0),
        ("orders", "BIGINT", 1),
    ]


async def _pages_join_up_to_the_table(tables: Tables, table_id: str, owner: Caller) -> None:
    for first in (1, 3, 4, 10):
        seen: list[Row] = []
        has_next = True
        while has_next:
            page = await tables.rows(rows_of(table_id, first=first, after=seen[-1].number if seen else None), owner)
            assert isinstance(page, RowPage)
            assert 0 < len(page.rows) <= first
            seen += page.rows
            has_next = page.has_next
        assert tuple(row.values for row in seen) == ROWS
        assert [row.number for row in seen] == [0, 1, 2, 3]
    assert await tables.rows(rows_of(table_id, after=3), owner) == RowPage((), has_next=False)


async def _filtered_rows_keep_their_numbers(tables: Tables, table_id: str, owner: Caller) -> None:
    march = Filter("month", Operator.EQ, "March")
    with_an_r = Filter("month", Operator.CONTAINS, "r")
    without_orders = Filter("orders", Operator.IS_NULL)
    expected = {
        (march,): [2],
        (with_an_r,): [0, 1, 2, 3],
        (with_an_r, without_orders): [1],
        (march, without_orders): [],
    }
    for filters, numbers in expected.items():
        page = await tables.rows(rows_of(table_id, *filters), owner)
        assert isinstance(page, RowPage)
        assert [row.number for row in page.rows] == numbers
    page = await tables.rows(rows_of(table_id, with_an_r, first=1, after=1), owner)
    assert isinstance(page, RowPage)
    assert ([row.number for row in page.rows], page.has_next) == ([2], True)


async def _a_filter_that_cannot_be_asked_is_a_fault(tables: Tables, table_id: str, owner: Caller) -> None:
    fault = await tables.rows(rows_of(table_id, Filter("secret", Operator.EQ, "x")), owner)
    assert isinstance(fault, FilterFault)
    assert fault.message
    assert fault.filter in (None, 0)


async def _a_strangers_table_is_no_table(tables: Tables, table_id: str, owner: Caller, stranger: Caller) -> None:
    """Nobody can tell it from one that is not there, not by a filter either."""
    assert await tables.tables((table_id,), stranger) == await tables.tables(("missing",), stranger) == (None,)
    for asked in ("missing", table_id):
        assert await tables.rows(rows_of(asked), stranger) is None
        assert await tables.rows(rows_of(asked, Filter("secret", Operator.EQ, "x")), stranger) is None
    assert await tables.rows(rows_of("missing"), owner) is None
