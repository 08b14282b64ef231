"""Refuses requests whose end a proxy and we could see in different places. Pure.

h11 (0.16) refuses most of them itself: lengths that differ or are no numbers, codings other than `chunked`, spaces
before colons, line ends in values, broken chunks. These are the ones that it takes.
"""

from collections.abc import Iterable

from starlette.responses import Response

from headworks.server.http.replies import refusal


def framing_fault(version: str, names: Iterable[bytes]) -> Response | None:
    """Refuse a request that a proxy before us may have read otherwise; None when there is no doubt.

    What follows such a request on its connection could be a second one that nobody sent, so the connection is closed.

    Args:
        version: Of HTTP, as the request has it ("1.1").
        names: Of the headers, in lower case.
    Source: RFC 9112, section 6.1 (both lengths, and Transfer-Encoding in HTTP/1.0); RFC 9110, section 15.6.6.
    """
    has = frozenset(names)
    if not version.startswith("1."):
        return refusal(505, "BAD_REQUEST", "HTTP/1.1 is served here", {"connection": "close"})
    if b"transfer-encoding" not in has:
        return None
    if b"content-length" in has:
        return _bad("Content-Length and Transfer-Encoding exclude each other")
    if version == "1.0":
        return _bad("HTTP/1.0 has no Transfer-Encoding")
    return None


def _bad(message: str) -> Response:
    return refusal(400, "BAD_REQUEST", message, {"connection": "close"})
