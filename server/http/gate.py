"""The gate in front of the handlers: it decides who is let in, with how much, how many at once and for how long."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from headworks.policy.errors import IssuerUnavailable, UnknownCaller
from headworks.policy.identity.caller import Identifier
from headworks.server.clock import Clock
from headworks.server.http.body import Bodies, BodyTooLarge, BodyTooSlow, ClientGone
from headworks.server.http.replies import refusal
from headworks.server.http.settings import HttpSettings
from headworks.server.http.share import Bound, Full, Share
from headworks.server.visit.visit import Visit, visit_from

Handler = Callable[[Request, bytes, Visit], Awaitable[Response]]

CLIENT_GONE = 499
"""What the access log shows when nobody waited for the answer; never seen by a client."""
_CLOSE = {"connection": "close"}
_REFUSED = (UnknownCaller, IssuerUnavailable, BodyTooLarge, BodyTooSlow, ClientGone, Full, TimeoutError)


class Gate:
    """Guards handlers. There is one for all of them, so that they share the bounds on bodies and on requests.

    A request counts as running from when its body is whole until its answer is sent.
    """

    def __init__(self, settings: HttpSettings, identifier: Identifier, clock: Clock) -> None:
        self._settings = settings
        self._identifier = identifier
        self._clock = clock
        self._bodies = Bodies(settings, clock)
        self._running = Share(
            Bound("http.max_concurrent_requests", settings.max_concurrent_requests),
            Bound("http.max_tenant_requests", settings.max_tenant_requests),
        )

    def guard(self, handler: Handler) -> ASGIApp:
        """Wrap a handler, which then gets the whole body and the visit."""
        return _Guarded(self, handler)

    async def respond(self, request: Request, handler: Handler, held: ExitStack) -> Response:
        """Return the handler's response, or why the request is not let in.

        Args:
            held: Keeps the request's place until it is closed.
        """
        limits = self._settings
        try:
            visit = await self._visit(request)
            body = await self._bodies.read(request, visit)
            held.enter_context(self._running.hold(1, visit.caller.tenant))
            async with self._clock.timeout(limits.request_timeout_seconds):
                return await while_listening(request, handler(request, body, visit))
        except _REFUSED as error:
            return _refusal(error, limits)

    async def _visit(self, request: Request) -> Visit:
        host = request.client.host if request.client is not None else ""
        has_tls = request.scope["scheme"] == "https"
        return await visit_from(self._identifier, request.headers.items(), host=host, has_tls=has_tls)


class _Guarded:
    """One handler behind the gate, as an application of its own, so that it knows when its answer is sent."""

    def __init__(self, gate: Gate, handler: Handler) -> None:
        self._gate = gate
        self._handler = handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with ExitStack() as held:
            response = await self._gate.respond(Request(scope, receive), self._handler, held)
            await response(scope, receive, send)


def _refusal(error: Exception, limits: HttpSettings) -> Response:
    match error:
        case UnknownCaller():
            return refusal(401, "UNKNOWN_CALLER", str(error), {"www-authenticate": "Bearer"})
        case IssuerUnavailable():
            retry = {"retry-after": str(limits.retry_after_seconds)}
            return refusal(503, "ISSUER_UNAVAILABLE", str(error), retry)
        case BodyTooLarge():
            return refusal(413, "TOO_LARGE", f"http.max_body_bytes allows {limits.max_body_bytes}", _CLOSE)
        case BodyTooSlow():
            message = f"http.body_timeout_seconds allows {limits.body_timeout_seconds:g}"
            return refusal(408, "TIMED_OUT", message, _CLOSE)
        case Full():
            retry = {"retry-after": str(limits.retry_after_seconds)}
            return refusal(429 if error.is_own else 503, "TOO_MANY", str(error), retry)
        case TimeoutError():
            message = f"http.request_timeout_seconds allows {limits.request_timeout_seconds:g}"
            return refusal(504, "TIMED_OUT", message, _CLOSE)
        case _:
            return Response(status_code=CLIENT_GONE)


async def while_listening(request: Request, answer: Awaitable[Response]) -> Response:
    """Wait for the answer as long as the peer does; the body must have been read.

    Raises:
        ClientGone: the peer left; the work was cancelled and has ended.
    """
    work = asyncio.ensure_future(answer)
    gone = asyncio.ensure_future(_disconnect(request))
    try:
        await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        raise ClientGone
    finally:
        work.cancel()
        gone.cancel()
        await asyncio.gather(work, gone, return_exceptions=True)


async def _disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
