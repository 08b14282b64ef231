"""Answers requests to the graph, and hides what an exception would tell."""

import asyncio
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphql import GraphQLError
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError

from headworks.graphql.budget import too_large
from headworks.graphql.context import RequestContext
from headworks.graphql.encoding import STEP_BYTES, AnswerTooLarge, encode
from headworks.graphql.guard import refuse
from headworks.graphql.observer import GraphqlObserver, ResolverFault
from headworks.graphql.ports.tables import Tables
from headworks.graphql.ports.turns import Turns
from headworks.graphql.roots import build_schema
from headworks.graphql.settings import GraphqlSettings
from headworks.policy.identity.caller import Caller

MASKED = "something went wrong here; it has been noted"


@dataclass(frozen=True, slots=True)
class GraphqlRequest:
    """One request, as it came over HTTP."""

    query: str
    variables: Mapping[str, object] | None = None
    operation_name: str | None = None
    is_hash_only: bool = False
    """The hash of a persisted query stands in place of the query."""


@dataclass(frozen=True, slots=True)
class GraphqlAnswer:
    """One answer, as it goes out."""

    body: bytes
    """JSON in UTF-8."""
    has_data: bool
    """False when nothing was run: the document or the variables were wrong, or the answer too large."""


class Graph:
    """Answers GraphQL requests."""

    def __init__(self, settings: GraphqlSettings, tables: Tables, observer: GraphqlObserver) -> None:
        self._settings = settings
        self._tables = tables
        self._observer = observer
        self._schema = build_schema(settings)

    async def answer(self, request: GraphqlRequest, caller: Caller, turns: Turns) -> GraphqlAnswer:
        """Run one operation.

        Args:
            caller: Who asks.
            turns: Runs turns for that caller, as the request came.
        Returns:
            The GraphQL response. Exceptions of resolvers are told to the observer and masked.
        """
        response, limit = await self._run(request, caller, turns), self._settings.max_answer_bytes
        try:
            return GraphqlAnswer(await encode(response, limit), "data" in response)
        except AnswerTooLarge:
            return GraphqlAnswer(await encode(_only(too_large(limit)), STEP_BYTES), has_data=False)

    async def _run(self, request: GraphqlRequest, caller: Caller, turns: Turns) -> dict[str, Any]:
        if request.is_hash_only:
            # Source: Apollo Server, persistedQueries; Apollo's clients and router read this message and code, and
            # then send the query itself.
            return _only(refuse("PERSISTED_QUERY_NOT_SUPPORTED", "PersistedQueryNotSupported"))
        if not request.query:
            return _only(refuse("NO_OPERATION", "the query is empty"))
        context = RequestContext(caller, self._tables, turns, self._settings)
        try:
            result = await self._schema.execute(
                request.query,
                variable_values=dict(request.variables) if request.variables else None,
                context_value=context,
                operation_name=request.operation_name,
            )
        except CannotGetOperationTypeError as unknown:
            return _only(refuse("NO_OPERATION", unknown.as_http_error_reason()))
        except InvalidOperationTypeError:
            return _only(refuse("NO_OPERATION", "only queries and mutations are served"))
        errors = [self._mask(error).formatted for error in result.errors or ()]
        ran = result.data is not None or any(error.path for error in result.errors or ())
        response: dict[str, Any] = {"data": result.data} if ran else {}
        if errors:
            response["errors"] = errors
        return response

    def _mask(self, error: GraphQLError) -> GraphQLError:
        """Keep the words of graphql-core and of this package; hide those of any other exception."""
        cause = error.original_error
        if cause is None or isinstance(cause, GraphQLError):
            return error
        if isinstance(cause, asyncio.CancelledError):
            raise cause
        self._observer.resolver_failed(_fault(cause))
        return GraphQLError(MASKED, nodes=error.nodes, path=error.path, extensions={"code": "INTERNAL"})


def _only(error: GraphQLError) -> dict[str, Any]:
    return {"errors": [error.formatted]}


def _fault(cause: BaseException) -> ResolverFault:
    frames = traceback.extract_tb(cause.__traceback__)
    return ResolverFault(
        error_type=type(cause).__qualname__,
        stack=tuple(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames),
    )
