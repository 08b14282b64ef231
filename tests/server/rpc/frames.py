"""A peer that speaks HTTP/2 by hand, and only as much of it as it wants."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import IntEnum

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""A client's first words, and empty settings (RFC 9113, sections 3.4 and 6.5)."""
ACK = 1
_HEAD_BYTES = 9
_PATIENCE_SECONDS = 10.0
"""For what must come; a test fails by it, none passes by it."""


class Kind(IntEnum):
    """Frames that tests look at (RFC 9113, section 6)."""

    SETTINGS = 4
    PING = 6
    GOAWAY = 7


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame from the server."""

    kind: int
    flags: int
    payload: bytes

    @property
    def goodbye(self) -> str:
        """What a GOAWAY says beside its numbers."""
        return self.payload[8:].decode()


class RawPeer:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def greet(self) -> None:
        """Complete the handshake of HTTP/2."""
        self._writer.write(PREFACE)

    def answer(self, ping: Frame) -> None:
        self._writer.write(bytes((0, 0, 8, Kind.PING, ACK, 0, 0, 0, 0)) + ping.payload)

    async def is_let_in(self) -> bool:
        """Whether the server greets; otherwise it has closed the connection."""
        return await self.next_frame() is not None

    async def goodbye(self) -> str | None:
        """Read to the end; return what the last GOAWAY said, or None when there was none."""
        said = None
        while (frame := await self.next_frame()) is not None:
            if frame.kind == Kind.GOAWAY:
                said = frame.goodbye
        return said

    async def next_frame(self) -> Frame | None:
        """Return the next frame; None once the server has closed the connection."""
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                head = await self._reader.readexactly(_HEAD_BYTES)
                payload = await self._reader.readexactly(int.from_bytes(head[:3], "big"))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        return Frame(head[3], head[4], payload)

    async def leave(self) -> None:
        self._writer.transport.abort()
        with suppress(OSError):
            await self._writer.wait_closed()


@asynccontextmanager
async def raw_peer(port: int, *, tls: ssl.SSLContext | None = None, greets: bool = True) -> AsyncIterator[RawPeer]:
    """Connect, and leave at the end.

    Args:
        greets: Complete the handshake of HTTP/2, and not only that of TCP and TLS.
    """
    peer = RawPeer(*await asyncio.open_connection("127.0.0.1", port, ssl=tls))
    if greets:
        peer.greet()
    try:
        yield peer
    finally:
        await peer.leave()
