"""Lets requests in: who asks, how many at once, how much, for how long, and only while somebody listens."""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from headworks.policy.errors import UnknownCaller
from headworks.policy.identity.caller import Identifier
from headworks.server.http.replies import refusal
from headworks.server.http.settings import HttpSettings
from headworks.server.visit.visit import Visit, visit_from

Handler = Callable[[Request, bytes, Visit], Awaitable[Response]]

CLIENT_GONE = 499
"""What the access log shows when nobody waited for the answer; never seen by a client."""


class BodyTooLarge(Exception):
    """The body is over `max_body_bytes`, by its header or by its bytes so far."""


class ClientGone(Exception):
    """The peer closed the connection before the answer."""


class Gate:
    """Guards handlers. One for all of them, so that they share the bound on how many run at once."""

    def __init__(self, settings: HttpSettings, identifier: Identifier) -> None:
        self._settings = settings
        self._identifier = identifier
        self._running = 0

    @property
    def running(self) -> int:
        """Requests that are being handled."""
        return self._running

    def guard(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        """Wrap a handler, which then gets the whole body and the visit."""

        async def guarded(request: Request) -> Response:
            try:
                visit = self._visit(request)
            except UnknownCaller as unknown:
                return refusal(401, "UNKNOWN_CALLER", str(unknown), {"www-authenticate": "Bearer"})
            return await self._admit(request, handler, visit)

        return guarded

    def _visit(self, request: Request) -> Visit:
        host = request.client.host if request.client is not None else ""
        has_tls = request.scope["scheme"] == "https"
        return visit_from(self._identifier, request.headers.items(), host=host, has_tls=has_tls)

    async def _admit(self, request: Request, handler: Handler, visit: Visit) -> Response:
        limits = self._settings
        if self._running >= limits.max_concurrent_requests:
            message = f"http.max_concurrent_requests allows {limits.max_concurrent_requests}"
            return refusal(503, "TOO_MANY", message, {"retry-after": str(limits.retry_after_seconds)})
        self._running += 1
        try:
            async with asyncio.timeout(limits.request_timeout_seconds):
                body = await read_body(request, limits.max_body_bytes)
                return await while_listening(request, handler(request, body, visit))
        except BodyTooLarge:
            message = f"http.max_body_bytes allows {limits.max_body_bytes}"
            return refusal(413, "TOO_LARGE", message, {"connection": "close"})
        except ClientGone:
            return Response(status_code=CLIENT_GONE)
        except TimeoutError:
            message = f"http.request_timeout_seconds allows {limits.request_timeout_seconds:g}"
            return refusal(504, "TIMED_OUT", message, {"connection": "close"})
        finally:
            self._running -= 1


async def read_body(request: Request, max_bytes: int) -> bytes:
    """Read the body, holding no more of it than allowed.

    Raises:
        BodyTooLarge: told from Content-Length before anything is read, else at the first byte too many.
        ClientGone: the body was cut short.
    """
    claimed = request.headers.get("content-length", "")
    if claimed.isascii() and claimed.isdigit() and int(claimed[:20]) > max_bytes:
        raise BodyTooLarge
    body = bytearray()
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        body += message.get("body", b"")
        if len(body) > max_bytes:
            raise BodyTooLarge
        if not message.get("more_body", False):
            return bytes(body)


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
