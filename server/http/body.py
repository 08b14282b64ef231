"""The bodies of requests are read here. What is held of them is bounded in size and time, however they are sent."""

from starlette.requests import Request

from headworks.server.clock import Clock
from headworks.server.http.settings import HttpSettings
from headworks.server.http.share import Bound, Share
from headworks.server.visit.visit import Visit


class BodyTooLarge(Exception):
    """The body is over `max_body_bytes`, by its header or by its bytes so far."""


class BodyTooSlow(Exception):
    """The body was not whole in `body_timeout_seconds`."""


class ClientGone(Exception):
    """The peer closed the connection before the answer."""


class Bodies:
    """Reads bodies. A slow sender costs its own connection and the bytes that it has sent, and nobody else waits."""

    def __init__(self, settings: HttpSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._held = Share(
            Bound("http.max_held_body_bytes", settings.max_held_body_bytes),
            Bound("http.max_own_body_bytes", settings.max_own_body_bytes),
        )

    async def read(self, request: Request, visit: Visit) -> bytes:
        """Read one body to its end.

        Raises:
            BodyTooLarge: told from Content-Length before anything is read, else at the first byte too many.
            BodyTooSlow: it did not come in time.
            ClientGone: it was cut short.
            Full: with it, too much would be held of all bodies, or of this peer's or tenant's.
        """
        allowed = self._settings.max_body_bytes
        claimed = request.headers.get("content-length", "")
        if claimed.isascii() and claimed.isdigit() and int(claimed[:20]) > allowed:
            raise BodyTooLarge
        holders = (f"peer {visit.peer}", f"tenant {visit.caller.tenant}")
        body = bytearray()
        try:
            async with self._clock.timeout(self._settings.body_timeout_seconds):
                has_more = True
                while has_more:
                    piece, has_more = await _next_piece(request)
                    if len(body) + len(piece) > allowed:
                        raise BodyTooLarge
                    self._held.take(len(piece), *holders)
                    body += piece
        except TimeoutError:
            raise BodyTooSlow from None
        finally:
            self._held.give_back(len(body), *holders)
        return bytes(body)


async def _next_piece(request: Request) -> tuple[bytes, bool]:
    message = await request.receive()
    if message["type"] == "http.disconnect":
        raise ClientGone
    return message.get("body", b""), message.get("more_body", False)
