"""The graph's port to tables, over the store that turns put them into."""

from headworks.graphql.ports.tables import FilterFault, Row, RowPage, RowsFault, RowsRequest, TableView
from headworks.intake.errors import IntakeError
from headworks.intake.table.filters import BadFilter
from headworks.intake.table.store import TableStore, UnknownTable
from headworks.intake.work import WorkPool
from headworks.policy.identity.caller import Caller
from headworks.server.status import status_of


class StoredTables:
    """Gives out tables by their id, to callers of the tenant that owns them."""

    def __init__(self, store: TableStore, pool: WorkPool) -> None:
        self._store = store
        self._pool = pool

    async def tables(self, table_ids: tuple[str, ...], caller: Caller) -> tuple[TableView | None, ...]:
        """See `Tables`."""
        return tuple(self._view(table_id, caller) for table_id in table_ids)

    async def rows(self, request: RowsRequest, caller: Caller) -> RowPage | FilterFault | RowsFault | None:
        """See `Tables`. What the store refuses has the code and the words that gRPC would have."""
        after = -1 if request.after is None else request.after
        try:
            page = await self._pool.run(
                self._store.rows, request.table_id, caller.tenant, request.filters, request.first, after
            )
        except UnknownTable:
            return None
        except BadFilter as error:
            return FilterFault(None, str(error))
        except IntakeError as error:
            if (status := status_of(error)) is None:
                raise
            return RowsFault(status.reason, status.message)
        return RowPage(tuple(Row(number, values) for number, values in page.rows), page.has_more)

    def _view(self, table_id: str, caller: Caller) -> TableView | None:
        try:
            return TableView(table_id, self._store.get(table_id, caller.tenant))
        except UnknownTable:
            return None
