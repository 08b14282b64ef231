"""The roots of the graph and the federated schema over them."""

from typing import Literal

import strawberry
from graphql import GraphQLError
from strawberry import federation
from strawberry.federation.schema import FederationAny
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext, Info

from headworks.graphql.guard import DocumentGuard, refuse
from headworks.graphql.settings import GraphqlSettings
from headworks.graphql.table.resolvers import Table, TableResult, table
from headworks.graphql.turn.resolvers import turn
from headworks.graphql.turn.types import TurnResult

FEDERATION: Literal["2.3"] = "2.3"
"""@key and @shareable need 2.0; a version that routers have known for years."""


@strawberry.type
class Query:
    table: TableResult = strawberry.field(resolver=table, description="A table by its id.")


@strawberry.type
class Mutation:
    turn: TurnResult = strawberry.mutation(resolver=turn, description="Run a whole turn and wait for its answer.")


class Subgraph(federation.Schema):
    """The federated schema. Checks references before they are resolved, and leaves logging to the observer."""

    def entities_resolver(self, info: Info, representations: list[FederationAny]) -> list[FederationAny]:
        """Resolve references of other subgraphs; see `Table.resolve_reference`.

        Returns:
            As many as there are representations; for one that is no reference to a Table, an error of its own.
        Raises:
            GraphQLError: too many.
        """
        allowed = info.context.settings.max_entities
        if len(representations) > allowed:
            raise refuse("TOO_MANY_ENTITIES", f"graphql.max_entities allows {allowed}, asked {len(representations)}")
        references = [_reference(each) for each in representations]
        good = [each for each in references if not isinstance(each, GraphQLError)]
        entities = iter(super().entities_resolver(info, good))
        return [FederationAny(each) if isinstance(each, GraphQLError) else next(entities) for each in references]

    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        """Do nothing: strawberry would log messages here, which may hold content."""


def _reference(representation: object) -> FederationAny | GraphQLError:
    match representation:
        case {"__typename": "Table", "id": str() as table_id}:
            return FederationAny({"__typename": "Table", "id": table_id})
        case _:
            return refuse("BAD_REPRESENTATION", 'a representation is {__typename: "Table", id: ID}')


def build_schema(settings: GraphqlSettings) -> Subgraph:
    """Build the schema with its guard. This takes some 20 ms, so it is done once."""
    return Subgraph(
        query=Query,
        mutation=Mutation,
        types=[Table],  # strawberry looks for entities behind fields, and not inside unions
        extensions=[lambda: DocumentGuard(settings)],
        config=StrawberryConfig(disable_field_suggestions=not settings.allow_introspection),
        federation_version=FEDERATION,
    )
