"""An HTTP connection that ends when its peer is too slow, or when there are too many."""

import asyncio
from http import HTTPStatus

from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from headworks.server.http.replies import encode
from headworks.server.http.settings import HttpSettings
from headworks.server.http.share import Bound, Full, Share
from headworks.server.visit.visit import peer_name


def full_reply(error: Full, retry_after_seconds: int) -> bytes:
    """Return what is sent to a connection that is one too many, whatever it would have asked."""
    status = HTTPStatus.TOO_MANY_REQUESTS if error.is_own else HTTPStatus.SERVICE_UNAVAILABLE
    body = encode({"reason": "TOO_MANY", "message": str(error)})
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nconnection: close\r\ncontent-type: application/json\r\n"
        f"retry-after: {retry_after_seconds}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode("ascii") + body


def connections_of(settings: HttpSettings) -> Share:
    """Make the count of one server's connections."""
    return Share(
        Bound("http.max_connections", settings.max_connections),
        Bound("http.max_peer_connections", settings.max_peer_connections),
    )


class BoundedConnection(H11Protocol):
    """uvicorn's h11 protocol with what it lacks (0.54): limits on connections, and on slow heads and slow readers."""

    def __init__(
        self,
        settings: HttpSettings,
        open_connections: Share,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._settings = settings
        self._open_connections = open_connections
        self._head_timer: asyncio.TimerHandle | None = None
        self._answer_timer: asyncio.TimerHandle | None = None
        self._counted_as: str | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        peer = peer_name(self.client[0]) if self.client else ""
        try:
            self._open_connections.take(1, peer)
        except Full as error:
            transport.write(full_reply(error, self._settings.retry_after_seconds))
            transport.close()
            return
        self._counted_as = peer
        transport.set_write_buffer_limits(high=1, low=0)  # with 0, asyncio's TLS would call every peer slow
        self._time_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_answering:
            self._stop_head_timer()
        elif self.timeout_keep_alive_task is None:
            self._time_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        self._stop_answer_timer()
        if self._counted_as is not None:
            self._open_connections.give_back(1, self._counted_as)
            self._counted_as = None
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Begin to time the answer, because something waits to be read by the peer.

        The transport's limit is one byte, so this is called before anything can wait, closing connections included.
        """
        super().pause_writing()
        if self._answer_timer is None:
            seconds = self._settings.answer_timeout_seconds
            self._answer_timer = self.loop.call_later(seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop timing when the peer has taken the whole answer."""
        super().resume_writing()
        if not self._is_answering:
            self._stop_answer_timer()

    def on_response_complete(self) -> None:
        """Stop timing when the transport has sent all of the answer that it was given."""
        super().on_response_complete()
        if not self.flow.write_paused:
            self._stop_answer_timer()

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _time_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self._settings.header_timeout_seconds, self._head_is_late)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _stop_answer_timer(self) -> None:
        if self._answer_timer is not None:
            self._answer_timer.cancel()
            self._answer_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        if not self._is_answering:
            self.transport.close()
