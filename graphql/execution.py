"""How a request to the graph is answered without telling what it should not."""

import asyncio
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphql import GraphQLError
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError

from headworks.graphql.context import RequestContext
from headworks.graphql.guard import refuse
from headworks.graphql.observer import GraphqlObserver, ResolverFault
from headworks.graphql.roots import build_schema
from headworks.graphql.settings import GraphqlSettings
from headworks.graphql.table.port import Tables
from headworks.graphql.turn.port import Turns
from headworks.policy.identity.caller import Caller

MASKED = "something went wrong here; it has been noted"


@dataclass(frozen=True, slots=True)
class GraphqlRequest:
    """One request, as it came over HTTP."""

    query: str
    variables: Mapping[str, object] | None = None
    operation_name: str | None = None


class Graph:
    """Answers GraphQL requests."""

    def __init__(self, settings: GraphqlSettings, tables: Tables, observer: GraphqlObserver) -> None:
        self._settings = settings
        self._tables = tables
        self._observer = observer
        self._schema = build_schema(settings)

    async def answer(self, request: GraphqlRequest, caller: Caller, turns: Turns) -> dict[str, Any]:
        """Run one operation.

        Args:
            caller: Who asks.
            turns: Runs turns for that caller, as the request came.
        Returns:
            The GraphQL response, ready for JSON; without "data" when nothing was run (the document or the
            variables were wrong). Exceptions of resolvers are told to the observer and masked.
        """
        if not request.query:
            return {"errors": [refuse("NO_OPERATION", "the query is empty").formatted]}
        context = RequestContext(caller, self._tables, turns, self._settings)
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
