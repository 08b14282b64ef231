"""OPA's REST data API on loopback, answered by OPA's own engine (its Go library), for want of the binary.

Source of paths and bodies: OPA documentation, "REST API", sections "Get a Document (with Input)" and "Health API".
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from aiohttp import web
from opa_bindings import OpaEngine, OpaUndefinedError

from headworks.policy.bundles.sources import PolicySources


def engine_for(sources: PolicySources) -> OpaEngine:
    """Return OPA's engine with a policy in it; the caller closes it."""
    engine = OpaEngine()
    for path, text in sources.modules():
        engine.add_policy(path, text)
    engine.add_data(sources.data())
    return engine


@asynccontextmanager
async def opa_server(sources: PolicySources, *, token: str = "") -> AsyncIterator[int]:
    """Serve a policy as OPA would; gives the port. With a token, questions without it get 401."""
    engine = engine_for(sources)

    async def data(request: web.Request) -> web.Response:
        if token and request.headers.get("Authorization") != f"Bearer {token}":
            return web.json_response({"code": "unauthorized", "message": "request rejected"}, status=401)
        body = await request.json()
        reply: dict[str, Any] = {}
        if "provenance" in request.query:
            reply["provenance"] = {"bundles": {"headworks": {"revision": sources.revision}}}
        with suppress(OpaUndefinedError):
            reply["result"] = engine.eval_document(request.match_info["path"].replace("/", "."), body["input"])
        return web.json_response(reply)

    try:
        async with http_server(data) as port:
            yield port
    finally:
        engine.close()


@asynccontextmanager
async def http_server(
    data: Callable[[web.Request], Awaitable[web.StreamResponse]], tls: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    """Serve /health and, by `data`, /v1/data; gives the port."""

    async def health(_: web.Request) -> web.Response:
        return web.json_response({})

    application = web.Application()
    application.router.add_get("/health", health)
    application.router.add_post("/v1/data/{path:.+}", data)
    runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    try:
        await site.start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@asynccontextmanager
async def raw_server(reply: bytes) -> AsyncIterator[int]:
    """Send fixed bytes to whoever connects and close; gives the port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        writer.write(reply)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
