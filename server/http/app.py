"""The HTTP application: which path is answered by what."""

from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headworks.graphql.execution import Graph
from headworks.policy.identity.caller import Identifier
from headworks.server.clock import Clock
from headworks.server.http.bundle_route import BundleSource, bundle_handler
from headworks.server.http.front import Front, HttpObserver
from headworks.server.http.gate import Gate
from headworks.server.http.graphql_route import TurnsOf, graphiql_page, graphql_handler
from headworks.server.http.probes import Readiness, live_probe, metrics_page, ready_probe
from headworks.server.http.replies import MASKED, refusal
from headworks.server.http.settings import HttpSettings

BUNDLE_PATH = "/bundles/headworks.tar.gz"
REASONS = {
    404: ("NOT_FOUND", "no such path"),
    405: ("BAD_METHOD", "not by this method"),
    500: ("INTERNAL", MASKED),
}


@dataclass(frozen=True, slots=True)
class HttpParts:
    """The objects that answer behind the routes."""

    graph: Graph
    turns_of: TurnsOf
    bundles: BundleSource
    readiness: Readiness
    registry: CollectorRegistry
    identifier: Identifier
    observer: HttpObserver
    clock: Clock


def _http_error(request: Request, error: Exception) -> Response:
    """Answer in our form. Starlette then raises an unexpected error once more, so that `Front` notes it."""
    status, headers = (error.status_code, error.headers) if isinstance(error, HTTPException) else (500, None)
    reason, message = REASONS.get(status, ("BAD_REQUEST", "the request cannot be answered"))
    return refusal(status, reason, message, headers)


def build_app(settings: HttpSettings, parts: HttpParts) -> Front:
    """Build the ASGI application. Probes and metrics bypass the gate: they answer while everything else is full."""
    gate = Gate(settings, parts.identifier, parts.clock)
    routes = [
        Route("/graphql", gate.guard(graphql_handler(parts.graph, parts.turns_of)), methods=["POST"]),
        Route(BUNDLE_PATH, gate.guard(bundle_handler(parts.bundles)), methods=["GET"]),
        Route("/metrics", metrics_page(parts.registry), methods=["GET"]),
        Route("/livez", live_probe(), methods=["GET"]),
        Route("/readyz", ready_probe(parts.readiness), methods=["GET"]),
    ]
    if settings.has_graphiql:
        routes.append(Route("/graphql", graphiql_page(), methods=["GET"]))
    app = Starlette(routes=routes, exception_handlers={HTTPException: _http_error, Exception: _http_error})
    app.router.redirect_slashes = False
    return Front(app, {route.path for route in routes}, settings, parts.observer)
