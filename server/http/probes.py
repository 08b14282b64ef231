"""The routes for an operator's tools: is the server alive, is it ready, and what are its figures."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from starlette.requests import Request
from starlette.responses import Response

from headworks.server.http.replies import encode

Probe = Callable[[Request], Awaitable[Response]]


class Readiness(Protocol):
    """Knows whether turns can be taken."""

    @property
    def is_ready(self) -> bool:
        """True while engine, models and policy are ready and the server is not draining."""
        ...

    def missing(self) -> tuple[str, ...]:
        """Return what is not ready and why, in one phrase each, without content or paths; empty when ready."""
        ...


def live_probe() -> Probe:
    """Answer 200 as long as the event loop turns, through the drain too."""

    async def probe(request: Request) -> Response:
        return Response(b'{"live":true}', media_type="application/json")

    return probe


def ready_probe(readiness: Readiness) -> Probe:
    """Answer 200 when turns can be taken, else 503 with what is missing."""

    async def probe(request: Request) -> Response:
        is_ready = readiness.is_ready
        body = encode({"ready": is_ready, "missing": [] if is_ready else list(readiness.missing())})
        return Response(body, status_code=200 if is_ready else 503, media_type="application/json")

    return probe


def metrics_page(registry: CollectorRegistry) -> Probe:
    """Answer with every metric of the registry, in OpenMetrics or the older text format as asked."""

    async def page(request: Request) -> Response:
        write, content_type = choose_encoder(request.headers.get("accept", ""))
        return Response(write(registry), headers={"content-type": content_type})

    return page
