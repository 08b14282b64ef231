"""The HTTP server: uvicorn, inside an event loop that it neither runs nor stops."""

import asyncio
import contextlib
import functools
import socket
import ssl
from collections.abc import Generator

import uvicorn
from starlette.types import ASGIApp

from headworks.server.http.connection import BoundedConnection, connections_of
from headworks.server.http.settings import HttpSettings
from headworks.server.visit.address import bare


class _EmbeddedServer(uvicorn.Server):
    """uvicorn's server, which leaves signals alone and tells when it accepts connections."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.accepts = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.accepts.set()


class HttpServer:
    """Serves one application; started and stopped once, on the running loop."""

    def __init__(self, settings: HttpSettings, app: ASGIApp, tls: ssl.SSLContext | None = None) -> None:
        self._settings = settings
        self._app = app
        self._tls = tls
        self._server: _EmbeddedServer | None = None
        self._serving: asyncio.Task[None] | None = None
        self._port = 0

    @property
    def port(self) -> int:
        """The bound port; 0 before `start`."""
        return self._port

    async def start(self) -> None:
        """Bind and accept.

        Raises:
            OSError: the address is taken or not this machine's.
        """
        limits = self._settings
        listener = _listener(bare(limits.host), limits.port, limits.backlog)
        listener.setblocking(False)
        self._port = listener.getsockname()[1]
        self._server = _EmbeddedServer(self._config())
        self._serving = asyncio.create_task(self._server.serve(sockets=[listener]), name="http")
        accepts = asyncio.create_task(self._server.accepts.wait())
        await asyncio.wait((accepts, self._serving), return_when=asyncio.FIRST_COMPLETED)
        accepts.cancel()
        if self._serving.done():
            listener.close()
            self._serving.result()

    async def stop(self, grace_seconds: float) -> None:
        """Accept no more, let requests end for so long, then cancel them; may be called twice.

        Every handler has ended, and every connection is closed, when this returns.
        """
        if self._server is None or self._serving is None:
            return
        server = self._server
        server.should_exit = True
        done, _ = await asyncio.wait((self._serving,), timeout=grace_seconds)
        if not done:
            handlers = list(server.server_state.tasks)
            for handler in handlers:
                handler.cancel()
            await asyncio.gather(*handlers, return_exceptions=True)
            for connection in list(server.server_state.connections):
                connection.transport.close()
        await self._serving

    def _config(self) -> uvicorn.Config:
        limits = self._settings
        tls = self._tls
        return uvicorn.Config(
            self._app,
            http=functools.partial(BoundedConnection, limits, connections_of(limits)),  # type: ignore[arg-type]
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=limits.backlog,
            timeout_keep_alive=limits.keep_alive_seconds,
            h11_max_incomplete_event_size=limits.max_header_bytes + limits.max_url_bytes,
            ssl_context_factory=(lambda config, default: tls) if tls is not None else None,
        )


def _listener(host: str, port: int, backlog: int) -> socket.socket:
    """Listen as gRPC does: "::" takes IPv4 too, where the system can do that."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    takes_both = host == "::" and socket.has_dualstack_ipv6()
    return socket.create_server((host, port), family=family, backlog=backlog, dualstack_ipv6=takes_both)
