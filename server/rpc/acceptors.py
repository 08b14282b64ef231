"""Takes up calls as fast as they come.

grpc.aio asks the core for the next call of a method once it has taken up the one before, which takes some passes of the
event loop. Under load passes are long, and calls wait inside the core, where no limit of ours sees them, until their
deadlines pass. Here the core is asked for many calls at once, so that each is seen within a pass or two.

This needs parts of grpcio that are not public. Where they are not as expected, calls are taken up as grpc.aio does.
Source: grpcio 1.85, _cython/_cygrpc/aio/server.pyx.pxi, AioServer._server_main_loop.
"""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import Any

import grpc
from grpc._cython import cygrpc  # type: ignore[attr-defined]  # not in the stubs

_log = logging.getLogger("headworks.rpc")
_PRIVATE = ("_MethodResolver", "_RequestCallError", "_handle_rpc", "_schedule_rpc_coro")


class Acceptors:
    """Tasks that each wait for one call of a method, hand it over to grpc.aio, and wait for the next."""

    def __init__(self, server: grpc.aio.Server, interceptors: Sequence[grpc.aio.ServerInterceptor], count: int) -> None:
        """Serve a server that has not been started.

        Args:
            interceptors: The server's own.
            count: Calls of each method that are asked for at once.
        """
        self._server = server
        self._interceptors = tuple(interceptors)
        self._count = count
        self._handlers: dict[str, Any] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def add_generic_rpc_handlers(self, handlers: Sequence[grpc.GenericRpcHandler]) -> None:
        """See `grpc.aio.Server`; generated code calls it, and the next one."""
        self._server.add_generic_rpc_handlers(handlers)

    def add_registered_method_handlers(self, service: str, handlers: dict[str, Any]) -> None:
        """Keep the handlers of a service, and give them to the server."""
        self._server.add_registered_method_handlers(service, handlers)
        self._handlers |= {f"/{service}/{name}": handler for name, handler in handlers.items()}

    def start(self) -> None:
        """Take up calls from now on, until the server stops; it has been started."""
        server: Any = getattr(self._server, "_server", None)
        if not hasattr(server, "_request_registered_call") or any(not hasattr(cygrpc, name) for name in _PRIVATE):
            _log.warning("rpc.single_acceptor", extra={"grpc": grpc.__version__})
            return
        resolver = cygrpc._MethodResolver([], self._handlers)
        for method in self._handlers:
            for _ in range(self._count):
                self._keep(self._take_up(server, method, resolver))

    async def ended(self) -> None:
        """Return when all is taken down; the server has been stopped."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _take_up(self, server: Any, method: str, resolver: Any) -> None:
        loop, name = asyncio.get_running_loop(), method.encode()
        while True:
            try:
                state = await server._request_registered_call(name)
            except cygrpc._RequestCallError:
                return  # the server has stopped
            handling = cygrpc._handle_rpc(method, resolver, self._interceptors, state, loop, False)
            self._keep(cygrpc._schedule_rpc_coro(handling, state, loop, method))

    def _keep(self, running: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(running)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
