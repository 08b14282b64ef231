"""The subgraph: its roots, its entities, and how a request is answered without telling what it should not."""

import asyncio
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import strawberry
from graphql import GraphQLError
from strawberry import federation
from strawberry.federation.schema import FederationAny
from strawberry.schema.config import StrawberryConfig
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError
from strawberry.types import ExecutionContext, Info

from headworks.graphql.context import RequestContext, RequestInfo
from headworks.graphql.guard import DocumentGuard, refuse
from headworks.graphql.ports import GraphqlObserver, ResolverFault, Tables, Turns
from headworks.graphql.settings import GraphqlSettings
from headworks.graphql.tables import Table, TableNotFound, TableResult
from headworks.graphql.turns import TurnFailed, TurnFinished, TurnInput, TurnRefused, TurnResult, turn_result
from headworks.policy.identity.caller import Caller

FEDERATION: Literal["2.3"] = "2.3"
"""@key and @shareable need 2.0; a version that routers have known for years."""
MASKED = "something went wrong here; it has been noted"


async def _table(
    info: RequestInfo,
    id: Annotated[strawberry.ID, strawberry.argument(description="From `read` of a turn.")],  # noqa: A002
) -> Table | TableNotFound:
    view = await info.context.loader.load(id)
    return TableNotFound.of(id) if view is None else Table.of(view)


async def _turn(info: RequestInfo, input: TurnInput) -> TurnFinished | TurnRefused | TurnFailed:  # noqa: A002
    return turn_result(await info.context.turns.run(info.context.caller, input.to_port()))


@strawberry.type
class Query:
    table: TableResult = strawberry.field(resolver=_table, description="A table by its id.")


@strawberry.type
class Mutation:
    turn: TurnResult = strawberry.mutation(resolver=_turn, description="Run a whole turn and wait for its answer.")


class Subgraph(federation.Schema):
    """The federated schema. Checks references before they are resolved, and leaves logging to the observer."""

    def entities_resolver(self, info: Info, representations: list[FederationAny]) -> list[FederationAny]:
        """Resolve references of other subgraphs; see `Table.resolve_reference`.

        Raises:
            GraphQLError: too many, or one that is no reference to a Table.
        """
        allowed = info.context.settings.max_entities
        if len(representations) > allowed:
            raise refuse("TOO_MANY_ENTITIES", f"graphql.max_entities allows {allowed}, asked {len(representations)}")
        return super().entities_resolver(info, [_reference(each) for each in representations])

    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        """Nothing: strawberry would log messages here, which may hold content."""


def _reference(representation: object) -> FederationAny:
    match representation:
        case {"__typename": "Table", "id": str() as table_id}:
            return FederationAny({"__typename": "Table", "id": table_id})
        case _:
            raise refuse("BAD_REPRESENTATION", 'a representation is {__typename: "Table", id: ID}')


@dataclass(frozen=True, slots=True)
class GraphqlRequest:
    """One request, as it came over HTTP."""

    query: str
    variables: Mapping[str, object] | None = None
    operation_name: str | None = None


def build_schema(settings: GraphqlSettings) -> Subgraph:
    """The schema with its guard. Costs some 20 ms; build it once."""
    return Subgraph(
        query=Query,
        mutation=Mutation,
        types=[Table],  # strawberry looks for entities behind fields, and not inside unions
        extensions=[lambda: DocumentGuard(settings)],
        config=StrawberryConfig(disable_field_suggestions=not settings.allow_introspection),
        federation_version=FEDERATION,
    )


class Graph:
    """Answers GraphQL requests."""

    def __init__(self, settings: GraphqlSettings, tables: Tables, turns: Turns, observer: GraphqlObserver) -> None:
        self._settings = settings
        self._tables = tables
        self._turns = turns
        self._observer = observer
        self._schema = build_schema(settings)

    async def answer(self, request: GraphqlRequest, caller: Caller) -> dict[str, Any]:
        """Run one operation.

        Returns:
            The GraphQL response, ready for JSON; without "data" when nothing was run (the document or the
            variables were wrong). Exceptions of resolvers are told to the observer and masked.
        """
        if not request.query:
            return {"errors": [refuse("NO_OPERATION", "the query is empty").formatted]}
        context = RequestContext(caller, self._tables, self._turns, self._settings)
        try:
            result = await self._schema.execute(
                request.query,
                variable_values=dict(request.variables) if request.variables else None,
                context_value=context,
                operation_name=request.operation_name,
            )
        except CannotGetOperationTypeError as unknown:
            return {"errors": [refuse("NO_OPERATION", unknown.as_http_error_reason()).formatted]}
        except InvalidOperationTypeError:
            return {"errors": [refuse("NO_OPERATION", "only queries and mutations are served").formatted]}
        errors = [self._mask(error).formatted for error in result.errors or ()]
        ran = result.data is not None or any(error.path for error in result.errors or ())
        response: dict[str, Any] = {"data": result.data} if ran else {}
        if errors:
            response["errors"] = errors
        return response

    def _mask(self, error: GraphQLError) -> GraphQLError:
        """Keep what graphql-core and this package say; hide what an exception says."""
        cause = error.original_error
        if cause is None or isinstance(cause, GraphQLError):
            return error
        if isinstance(cause, asyncio.CancelledError):
            raise cause
        self._observer.resolver_failed(_fault(cause))
        return GraphQLError(MASKED, nodes=error.nodes, path=error.path, extensions={"code": "INTERNAL"})


def _fault(cause: BaseException) -> ResolverFault:
    frames = traceback.extract_tb(cause.__traceback__)
    return ResolverFault(
        error_type=type(cause).__qualname__,
        stack=tuple(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames),
    )
