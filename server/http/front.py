"""The outermost layer: every request passes through here, is checked and noted, and ends in an answer."""

import asyncio
import time
import traceback
from collections.abc import Collection
from typing import Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headworks.server.http.framing import framing_fault
from headworks.server.http.replies import MASKED, refusal
from headworks.server.http.settings import HttpSettings

PIECE_BYTES = 65_536
"""As much as a transport buffers before it calls its reader slow."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class HttpObserver(Protocol):
    """The port that is told about requests. No argument holds content; all but the time come from closed sets."""

    def request_finished(self, method: str, route: str, status: int, milliseconds: float) -> None:
        """One request was answered. `route` is a template or "unmatched", `method` a known one or "OTHER";
        `status` is 499 when the client had gone."""
        ...

    def request_failed(self, error_type: str, stack: tuple[str, ...]) -> None:
        """A handler raised what nobody expected; the stack is "file:line function", outermost first."""
        ...


class Front:
    """Checks a request's head, notes how it ended, and lets no exception reach uvicorn, which logs messages."""

    def __init__(self, app: ASGIApp, routes: Collection[str], settings: HttpSettings, observer: HttpObserver) -> None:
        self._app = app
        self._routes = frozenset(routes)
        self._settings = settings
        self._observer = observer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        began, status = time.perf_counter(), 0

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await _send_in_pieces(send, message)

        try:
            await self._answer(scope, receive, watch)
        except asyncio.CancelledError:
            # Only `HttpServer.stop` cancels from outside, and the task ends here.
            if not status:
                await refusal(503, "DRAINING", "the server is stopping")(scope, receive, watch)
        except Exception as error:  # noqa: BLE001  the last border: told to the observer, hidden from the peer
            self._observer.request_failed(type(error).__qualname__, stack_of(error))
            if not status:
                await refusal(500, "INTERNAL", MASKED)(scope, receive, watch)
        finally:
            path, method = scope["path"], scope["method"]
            self._observer.request_finished(
                method if method in METHODS else "OTHER",
                path if path in self._routes else "unmatched",
                status,
                (time.perf_counter() - began) * 1_000,
            )

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        limits = self._settings
        if fault := framing_fault(scope["http_version"], (name for name, _ in scope["headers"])):
            return await fault(scope, receive, send)
        url_bytes = len(scope["raw_path"]) + len(scope["query_string"])
        if url_bytes > limits.max_url_bytes:
            too_long = refusal(414, "TOO_LARGE", f"http.max_url_bytes allows {limits.max_url_bytes}")
            return await too_long(scope, receive, send)
        if sum(len(name) + len(value) + 4 for name, value in scope["headers"]) > limits.max_header_bytes:
            too_long = refusal(431, "TOO_LARGE", f"http.max_header_bytes allows {limits.max_header_bytes}")
            return await too_long(scope, receive, send)
        return await self._app(scope, receive, send)


async def _send_in_pieces(send: Send, message: Message) -> None:
    """Send a large body piece by piece: uvicorn waits for a slow reader between two sends, and not within one."""
    body = message.get("body", b"")
    for start in range(0, len(body) - PIECE_BYTES, PIECE_BYTES):
        await send({**message, "body": body[start : start + PIECE_BYTES], "more_body": True})
    if len(body) > PIECE_BYTES:
        message = {**message, "body": body[(len(body) - 1) // PIECE_BYTES * PIECE_BYTES :]}
    await send(message)


def stack_of(error: BaseException) -> tuple[str, ...]:
    """Return where an exception came from, without its message."""
    frames = traceback.extract_tb(error.__traceback__)
    return tuple(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames)
