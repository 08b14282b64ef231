"""Fakes of the graph's ports."""

import asyncio
from collections.abc import Callable, Mapping

from headworks.graphql.observer import ResolverFault
from headworks.graphql.ports.tables import FilterFault, Row, RowPage, RowsRequest, TableView
from headworks.graphql.ports.turns import Failed, Finished, TurnOutcome, TurnRequest
from headworks.intake.finding import Column, TableProfile
from headworks.intake.table.filters import Filter, Operator
from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.verdict import Verdict

ADA = Caller(tenant="acme", subject="ada", authenticated_by=AuthenticatedBy.API_KEY)
BOB = Caller(tenant="globex", subject="bob", authenticated_by=AuthenticatedBy.API_KEY)

ORDERS = TableView(
    "tbl-orders",
    TableProfile(
        "csv",
        4,
        (
            Column("month", "VARCHAR", 0, 4, "April", "March"),
            Column("orders", "BIGINT", 1, 3, "120", "310"),
        ),
    ),
)
ORDER_ROWS = (("January", "120"), ("February", None), ("March", "310"), ("April", "205"))

FINISHED = Finished(
    turn_id="turn-1",
    text="310 orders.",
    finish_reason="STOP",
    input_tokens=12,
    output_tokens=4,
    verdict=Verdict(allow=True, decision_id="dec-1", reasons=("OWN_TENANT",), judge="regorus"),
    trust=0.75,
)

COMPARISONS: Mapping[Operator, Callable[[str | None, str | None], bool]] = {
    Operator.EQ: lambda cell, value: cell is not None and cell == value,
    Operator.NE: lambda cell, value: cell is not None and cell != value,
    Operator.CONTAINS: lambda cell, value: cell is not None and value is not None and value in cell,
    Operator.IS_NULL: lambda cell, value: cell is None,
}


class OwnedTables:
    """Holds the orders for Ada's tenant alone, and counts how often it is asked."""

    def __init__(self) -> None:
        self.lookups: list[tuple[str, ...]] = []

    async def tables(self, table_ids: tuple[str, ...], caller: Caller) -> tuple[TableView | None, ...]:
        self.lookups.append(table_ids)
        return tuple(ORDERS if self._is_known(each, caller) else None for each in table_ids)

    async def rows(self, request: RowsRequest, caller: Caller) -> RowPage | FilterFault | None:
        if not self._is_known(request.table_id, caller):
            return None
        names = [column.name for column in ORDERS.profile.columns]
        for index, each in enumerate(request.filters):
            if each.column not in names:
                return FilterFault(index, f"no column {each.column!r}")
        matching = [
            Row(number, cells)
            for number, cells in enumerate(ORDER_ROWS)
            if (request.after is None or number > request.after)
            and all(self._matches(each, cells[names.index(each.column)]) for each in request.filters)
        ]
        return RowPage(tuple(matching[: request.first]), len(matching) > request.first)

    def _is_known(self, table_id: str, caller: Caller) -> bool:
        return table_id == ORDERS.table_id and caller.tenant == ADA.tenant

    def _matches(self, each: Filter, cell: str | None) -> bool:
        return COMPARISONS[each.operator](cell, each.value)


class AnsweringTurns:
    """Ends every turn with one outcome, and remembers what it was asked."""

    def __init__(self, outcome: TurnOutcome = FINISHED) -> None:
        self.outcome = outcome
        self.asked: list[TurnRequest] = []

    async def run(self, turn: TurnRequest) -> TurnOutcome:
        self.asked.append(turn)
        return self.outcome


class HangingTurns:
    """Never ends a turn; tells when one is running and when it was cancelled."""

    def __init__(self) -> None:
        self.is_running = asyncio.Event()
        self.was_cancelled = asyncio.Event()

    async def run(self, turn: TurnRequest) -> TurnOutcome:
        self.is_running.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.was_cancelled.set()
            raise
        return Failed("INTERNAL", "unreachable")


class BreakingTurns:
    """Raises an exception whose message holds content."""

    async def run(self, turn: TurnRequest) -> TurnOutcome:
        raise RuntimeError(f"could not read {turn.texts[0]}")


class RecordingGraphqlObserver:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.faults: list[ResolverFault] = []

    def resolver_failed(self, fault: ResolverFault) -> None:
        self.faults.append(fault)
