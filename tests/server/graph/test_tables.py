"""The graph's port to tables, over the store that turns put them into."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager

import pytest

from headworks.graphql.ports.tables import RowsFault
from headworks.intake.errors import BadMedia, IntakeError, TooLarge
from headworks.intake.finding import Read
from headworks.intake.span import Modality
from headworks.intake.table.filters import Filter
from headworks.intake.table.settings import TableStoreSettings
from headworks.intake.table.store import TableStore
from headworks.intake.table.table import RowPage
from headworks.intake.voice.encoding import VoiceForm
from headworks.intake.work import WorkPool
from headworks.server.graph.tables import StoredTables
from tests.contracts.tables import CSV, check_tables, rows_of
from tests.fakes.graph import ADA, BOB, ORDERS, OwnedTables
from tests.server.edge import TextAndTables


class FailingStore(TableStore):
    """Cannot be asked for rows."""

    def __init__(self, error: Exception) -> None:
        super().__init__(TableStoreSettings())
        self._error = error

    def rows(self, table_id: str, owner: str, filters: Sequence[Filter], first: int = 100, after: int = -1) -> RowPage:
        raise self._error


@asynccontextmanager
async def uploaded(csv: bytes) -> AsyncIterator[tuple[StoredTables, str, WorkPool]]:
    """A real store with one table, as a turn of Ada's leaves it behind."""
    intake = TextAndTables()

    async def chunks() -> AsyncIterator[bytes]:
        yield csv

    part = intake.open_part(Modality.TABLE, 1, VoiceForm(), ADA.tenant)
    async with aclosing(part.process(chunks())) as findings:
        (read,) = [finding async for finding in findings if isinstance(finding, Read)]
    yield StoredTables(intake.tables, intake.pool), read.table_id, intake.pool
    intake.close()


async def test_stored_tables_keep_the_contract() -> None:
    """What a turn left behind is there for its owner's tenant."""
    async with uploaded(CSV) as (tables, table_id, _):
        await check_tables(tables, table_id, ADA, BOB)


async def test_the_fake_keeps_the_contract() -> None:
    """Else the graph's own tests would prove nothing."""
    await check_tables(OwnedTables(), ORDERS.table_id, ADA, BOB)


async def test_more_rows_than_the_store_gives_is_too_large() -> None:
    """It names the setting, as gRPC would."""
    async with uploaded(CSV) as (tables, table_id, _):
        fault = await tables.rows(rows_of(table_id, first=501), ADA)
        assert isinstance(fault, RowsFault)
        assert fault.code == "TOO_LARGE"
        assert "intake.tables.max_rows_per_query allows 500" in fault.message


@pytest.mark.parametrize(
    ("error", "code"),
    [(TooLarge("intake.table.max_seconds", 20, 21), "TOO_LARGE"), (BadMedia("table 1: damaged"), "BAD_MEDIA")],
    ids=["over a limit", "not readable"],
)
async def test_whatever_the_store_refuses_is_told(error: Exception, code: str) -> None:
    """A query over its time or memory is the caller's to change, and no fault of ours."""
    async with uploaded(CSV) as (_, _, pool):
        failing = StoredTables(FailingStore(error), pool)
        assert await failing.rows(rows_of("any"), ADA) == RowsFault(code, str(error))


@pytest.mark.parametrize("error", [IntakeError("DuckDB failed"), RuntimeError("row 7 holds a secret")])
async def test_what_nobody_expected_is_raised(error: Exception) -> None:
    """The graph masks it and tells the operator."""
    async with uploaded(CSV) as (_, _, pool):
        failing = StoredTables(FailingStore(error), pool)
        with pytest.raises(type(error)):
            await failing.rows(rows_of("any"), ADA)
