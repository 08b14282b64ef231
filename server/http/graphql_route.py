"""The GraphQL route: one JSON request comes in, one JSON response goes out.

Source: GraphQL over HTTP, working draft; media types and status codes from its sections 5 and 6.
"""

import json
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from strawberry.http.ides import get_graphql_ide_html

from headworks.graphql.execution import Graph, GraphqlRequest
from headworks.graphql.ports.turns import Turns
from headworks.server.http.gate import Handler
from headworks.server.http.replies import refusal
from headworks.server.visit.visit import Visit

GRAPHQL_JSON = "application/graphql-response+json"
TurnsOf = Callable[[Visit], Turns]
"""Makes the graph's port to turns for one visit."""


class BadGraphqlRequest(Exception):
    """The body is no GraphQL request; the message says why without repeating it."""


def _no_constant(name: str) -> None:
    raise BadGraphqlRequest(f"{name} is no JSON")


def parse_request(body: bytes) -> GraphqlRequest:
    """Read {"query", "variables", "operationName"}; other keys are left alone. Pure.

    Raises:
        BadGraphqlRequest: not UTF-8, not JSON, nested too deep, not an object, or a key of the wrong kind.
    """
    try:
        request = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
        if b"\\u" in body:  # an escape can write a lone surrogate, which is no text
            json.dumps(request, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise BadGraphqlRequest("the body is not JSON in UTF-8, or nested too deep") from error
    match request:
        case list():
            raise BadGraphqlRequest("batches are not served; send one request at a time")
        case {"query": str() as query} if query:
            is_hash_only = False
        case {"extensions": {"persistedQuery": dict()}}:
            query, is_hash_only = "", True
        case {"query": ""}:
            query, is_hash_only = "", False
        case _:
            raise BadGraphqlRequest('the body is an object with "query", a string')
    variables, name = request.get("variables"), request.get("operationName")
    if not (variables is None or isinstance(variables, dict)) or not (name is None or isinstance(name, str)):
        raise BadGraphqlRequest('"variables" is an object and "operationName" a string, or they are left out')
    return GraphqlRequest(query, variables, name or None, is_hash_only)


def graphql_handler(graph: Graph, turns_of: TurnsOf) -> Handler:
    """Answer POST /graphql.

    A cross-site form cannot send application/json without a preflight, which nobody answers here; so the
    media type is insisted on.
    """

    async def handle(request: Request, body: bytes, visit: Visit) -> Response:
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != "application/json":
            return refusal(415, "BAD_REQUEST", "the content type is application/json")
        if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
            # RFC 9110, section 15.5.16: the header says what would have been taken.
            return refusal(415, "BAD_REQUEST", "the body is sent as it is", {"accept-encoding": "identity"})
        try:
            asked = parse_request(body)
        except BadGraphqlRequest as bad:
            return refusal(400, "BAD_REQUEST", str(bad))
        answer = await graph.answer(asked, visit.caller, turns_of(visit))
        is_new = GRAPHQL_JSON in request.headers.get("accept", "")
        return Response(
            answer.body,
            status_code=400 if is_new and not answer.has_data else 200,
            media_type=GRAPHQL_JSON if is_new else "application/json",
        )

    return handle


def graphiql_page() -> Callable[[Request], Awaitable[Response]]:
    """Answer GET /graphql with GraphiQL."""
    page = get_graphql_ide_html(graphql_ide="graphiql")

    async def serve(request: Request) -> Response:
        return HTMLResponse(page)

    return serve
