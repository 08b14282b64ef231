"""A connection that is closed when its peer is slow to say what it wants, or one too many."""

import asyncio

from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from headworks.server.http.settings import HttpSettings

FULL = b'{"reason":"TOO_MANY","message":"http.max_connections is reached"}'


def full_reply(retry_after_seconds: int) -> bytes:
    """What a connection too many is sent, whatever it would have asked."""
    head = (
        "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-type: application/json\r\n"
        f"retry-after: {retry_after_seconds}\r\ncontent-length: {len(FULL)}\r\n\r\n"
    )
    return head.encode("ascii") + FULL


class BoundedConnection(H11Protocol):
    """uvicorn's h11 protocol with a time limit on heads and a limit on connections, which it lacks (0.54)."""

    def __init__(
        self,
        settings: HttpSettings,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._settings = settings
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self._settings.max_connections:
            transport.write(full_reply(self._settings.retry_after_seconds))
            transport.close()
            return
        self._time_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_answering:
            self._stop_timer()
        elif self.timeout_keep_alive_task is None:
            self._time_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection; one whose peer has not read its answer by now is cut."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            super().timeout_keep_alive_handler()

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _time_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self._settings.header_timeout_seconds, self._head_is_late)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        if not self._is_answering:
            self.transport.close()
