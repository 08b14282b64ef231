"""A wire between two peers that can be cut without a sound."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import grpc

_PIECE_BYTES = 65_536


class Relay:
    """Carries bytes between those who connect to `port` and a server."""

    def __init__(self, target_port: int) -> None:
        self.port = 0
        self.opened = 0
        """Connections so far."""
        self.open = 0
        """Connections now, as the peer that connects keeps them."""
        self.carried_bytes = 0
        """In both directions."""
        self.is_lossy = False
        """Set, bytes vanish in both directions, and so does the end of a connection."""
        self._target_port = target_port
        self._connections: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["Relay"]:
        """Carry for the length of the block; what is still connected then is cut."""
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for connection in self._connections:
                connection.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)

    def channel(self, *options: tuple[str, int]) -> grpc.aio.Channel:
        """Make a channel that goes through here."""
        return grpc.aio.insecure_channel(f"127.0.0.1:{self.port}", options=options)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self.opened += 1
        self.open += 1
        try:
            await self._join(reader, writer)
        finally:
            writer.transport.abort()
            self.open -= 1
            self._connections.discard(task)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry until one end closes."""
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target_port)
        pairs = ((reader, far_writer), (far_reader, writer))
        ways = [asyncio.create_task(self._carry(source, sink)) for source, sink in pairs]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            far_writer.transport.abort()
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """Carry one direction to its end."""
        with suppress(ConnectionError):
            while piece := await source.read(_PIECE_BYTES):
                if not self.is_lossy:
                    self.carried_bytes += len(piece)
                    sink.write(piece)
                    await sink.drain()
        if self.is_lossy:
            await asyncio.Event().wait()
