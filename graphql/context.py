"""What one request's resolvers share."""

from typing import TypeAlias

import strawberry
from strawberry.dataloader import DataLoader

from headworks.graphql.budget import AnswerBudget
from headworks.graphql.ports.tables import Tables, TableView
from headworks.graphql.ports.turns import Turns
from headworks.graphql.settings import GraphqlSettings
from headworks.policy.identity.caller import Caller


class RequestContext:
    """Lives as long as one request, so its loader never shows one caller what another loaded."""

    def __init__(self, caller: Caller, tables: Tables, turns: Turns, settings: GraphqlSettings) -> None:
        self.caller = caller
        self.tables = tables
        self.turns = turns
        self.settings = settings
        self.budget = AnswerBudget(settings)
        self.loader: DataLoader[str, TableView | None] = DataLoader(self._load, max_batch_size=settings.max_entities)

    async def _load(self, table_ids: list[str]) -> list[TableView | None]:
        return list(await self.tables.tables(tuple(table_ids), self.caller))


RequestInfo: TypeAlias = strawberry.Info[RequestContext, None]
