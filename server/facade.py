"""Turns and tables as GraphQL sees them."""

from collections.abc import AsyncIterator

from headworks.graphql.ports import (
    Failed,
    FilterFault,
    Finished,
    Refused,
    Row,
    RowPage,
    RowsRequest,
    TableView,
    TurnOutcome,
    TurnRequest,
)
from headworks.intake.span import Modality
from headworks.intake.table.filters import BadFilter
from headworks.intake.table.store import TableStore, UnknownTable
from headworks.intake.work import WorkPool
from headworks.policy.identity.caller import Caller
from headworks.server.status import status_of
from headworks.server.turn.errors import TurnRefused
from headworks.server.turn.runner import TurnRunner, new_turn_id, steps


class TableFacade:
    """Tables by id, for their owner's tenant."""

    def __init__(self, store: TableStore, pool: WorkPool) -> None:
        self._store = store
        self._pool = pool

    async def tables(self, table_ids: tuple[str, ...], caller: Caller) -> tuple[TableView | None, ...]:
        return tuple(self._view(table_id, caller) for table_id in table_ids)

    async def rows(self, request: RowsRequest, caller: Caller) -> RowPage | FilterFault | None:
        after = -1 if request.after is None else request.after
        try:
            page = await self._pool.run(
                self._store.rows, request.table_id, caller.tenant, request.filters, request.first, after
            )
        except UnknownTable:
            return None
        except BadFilter as error:
            return FilterFault(None, str(error))
        return RowPage(tuple(Row(number, values) for number, values in page.rows), page.has_more)

    def _view(self, table_id: str, caller: Caller) -> TableView | None:
        try:
            return TableView(table_id, self._store.get(table_id, caller.tenant))
        except UnknownTable:
            return None


class TurnFacade:
    """Whole turns of text, by the same runner as gRPC's."""

    def __init__(self, runner: TurnRunner, *, is_encrypted: bool, is_loopback: bool) -> None:
        """Run turns.

        Args:
            is_encrypted: HTTP is served over TLS.
            is_loopback: HTTP listens on loopback only, so every peer is on this machine.
        """
        self._runner = runner
        self._is_encrypted = is_encrypted
        self._is_loopback = is_loopback

    async def run(self, caller: Caller, turn: TurnRequest) -> TurnOutcome:
        turn_id = new_turn_id()
        visit = steps.Visit(caller, is_encrypted=self._is_encrypted, is_loopback=self._is_loopback)
        text: list[str] = []
        ends: list[steps.Finished] = []

        async def sink(event: steps.Event) -> None:
            match event:
                case steps.Delta():
                    text.append(event.text)
                case steps.Finished():
                    ends.append(event)

        try:
            await self._runner.converse(visit, _steps(turn), sink, turn_id=turn_id)
        except TurnRefused as error:
            return Refused(error.verdict.decision_id, error.verdict.reasons)
        except Exception as error:
            if (status := status_of(error)) is None:
                raise
            return Failed(status.reason, status.message, turn_id)
        end = ends[0]
        return Finished(
            turn_id=turn_id,
            text="".join(text),
            finish_reason=end.reason.name,
            input_tokens=end.usage.input_tokens,
            output_tokens=end.usage.output_tokens,
            verdict=end.judgement.verdict,
            trust=end.judgement.trust.score,
        )


async def _steps(turn: TurnRequest) -> AsyncIterator[steps.Step]:
    yield steps.Setup(
        instructions=turn.instructions,
        purpose=turn.purpose,
        max_output_tokens=turn.max_output_tokens or 0,
        temperature=turn.temperature or 0.0,
        seed=turn.seed,
    )
    for text in turn.texts:
        yield steps.Chunk(Modality.TEXT, text.encode(), is_last=True)
