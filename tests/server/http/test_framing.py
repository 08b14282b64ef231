"""Where a request ends: nobody can send a second one in the body of a first (request smuggling)."""

import asyncio
import re

import pytest

from tests.server.http.conftest import ADA_KEY, Serve, Serving

BODY = b'{"query": "{ __typename }"}'
CHUNK = b"%x\r\n%s\r\n" % (len(BODY), BODY)
CHUNKED, LENGTH = "transfer-encoding: chunked", f"content-length: {len(BODY)}"
NEXT = b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n"


def post(*headers: str, body: bytes = BODY, version: str = "1.1") -> bytes:
    fixed = ("host: x", f"authorization: Bearer {ADA_KEY}", "content-type: application/json")
    return "\r\n".join((f"POST /graphql HTTP/{version}", *fixed, *headers, "", "")).encode() + body


def chunked(body: bytes, *headers: str) -> bytes:
    return post(CHUNKED, *headers, body=body)


CLEAR = {
    "a length": post(LENGTH),
    "the same length twice": post(LENGTH, LENGTH),
    "the same length in a list": post(f"content-length: {len(BODY)}, {len(BODY)}"),
    "chunks": chunked(CHUNK + b"0\r\n\r\n"),
    "chunks in capitals": post("Transfer-Encoding: CHUNKED", body=CHUNK + b"0\r\n\r\n"),
    "a chunk extension": chunked(b"%x;a=b\r\n%s\r\n0;c\r\n\r\n" % (len(BODY), BODY)),
    "trailers, a length among them": chunked(CHUNK + b"0\r\nx: y\r\ncontent-length: 5\r\n\r\n"),
    "a folded line": post("x-a: b", "\ttransfer-encoding: chunked", LENGTH),
    "lines that end in LF alone": post(LENGTH, body=b"").replace(b"\r\n", b"\n") + BODY,
}
"""What RFC 9112 allows, read as it says: a folded line is a part of the value before it (section 5.2)."""
DOUBTFUL = {
    "both lengths": post(LENGTH, CHUNKED, body=CHUNK + b"0\r\n\r\n"),
    "both, the length first and short": post("content-length: 4", CHUNKED, body=CHUNK + b"0\r\n\r\n"),
    "both, the length last and zero": post(CHUNKED, "content-length: 0", body=CHUNK + b"0\r\n\r\n"),
    "both, one of them folded": post("x: y", "transfer-encoding:", " chunked", LENGTH, body=CHUNK + b"0\r\n\r\n"),
    "both, one behind a bare LF": post("x: y\ntransfer-encoding: chunked", LENGTH),
    "chunks in HTTP/1.0": post(CHUNKED, "connection: keep-alive", body=CHUNK + b"0\r\n\r\n", version="1.0"),
    "two lengths": post(LENGTH, "content-length: 5"),
    "two lengths in a list": post(f"content-length: {len(BODY)}, 5"),
    "a length with a sign": post(f"content-length: +{len(BODY)}"),
    "a length in hex": post("content-length: 0x1b"),
    "no length": post("content-length:"),
    "a space before the colon": post(f"content-length : {len(BODY)}"),
    "chunked twice": chunked(CHUNK + b"0\r\n\r\n", CHUNKED),
    "identity": post("transfer-encoding: identity", LENGTH),
    "a coding before chunked": post("transfer-encoding: gzip, chunked", body=CHUNK + b"0\r\n\r\n"),
    "a coding after chunked": post("transfer-encoding: chunked, identity", body=CHUNK + b"0\r\n\r\n"),
    "a coding with a strange space": post("transfer-encoding: \x0bchunked", body=CHUNK + b"0\r\n\r\n"),
    "a bare CR in a value": post("x: y\rtransfer-encoding: chunked", LENGTH),
    "a NUL in a value": post("x: y\0", LENGTH),
    "a chunk size with LF alone": chunked(b"%x\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)),
    "a chunk that ends in LF alone": chunked(b"%x\r\n%s\n0\r\n\r\n" % (len(BODY), BODY)),
    "a chunk that ends in other bytes": chunked(b"%x\r\n%sXX0\r\n\r\n" % (len(BODY), BODY)),
    "a line end in a chunk extension": chunked(b"%x;a\nb\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)),
    "a chunk size in C": chunked(b"0x%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)),
    "a chunk size with a sign": chunked(b"-%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)),
    "two hosts": post("host: y", LENGTH),
}


async def statuses(serving: Serving, sent: bytes, until: int) -> tuple[list[int], bool]:
    """Send bytes; return the statuses that come, up to so many, and whether the connection was closed after them."""
    reader, writer = await asyncio.open_connection("127.0.0.1", serving.server.port)
    writer.write(sent)
    received = b""
    while len(found := re.findall(rb"HTTP/1\.1 (\d+) ", received)) < until:
        piece = await reader.read(65_536)
        if not piece:
            break
        received += piece
    is_closed = reader.at_eof()
    writer.transport.abort()
    return [int(each) for each in found], is_closed


@pytest.mark.parametrize("word", CLEAR)
async def test_what_follows_a_clear_request_is_the_next_one(serve: Serve, word: str) -> None:
    """Both are answered, the first as it was meant."""
    serving = await serve(Serving())
    assert await statuses(serving, CLEAR[word] + NEXT, 2) == ([200, 200], False)
    await serving.until_answered(2)
    assert [route for _, route, _ in serving.observer.finished] == ["/graphql", "/livez"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("word", DOUBTFUL)
async def test_what_follows_a_doubtful_request_is_never_answered(serve: Serve, word: str) -> None:
    """A proxy may have taken it for a part of the first: that one is refused, and the connection is closed."""
    serving = await serve(Serving())
    assert await statuses(serving, DOUBTFUL[word] + NEXT, 2) == ([400], True)
    assert (await serving.client.get("/livez")).status_code == 200


@pytest.mark.parametrize("path", ["/livez", "/metrics", "/nothing", "/bundles/headworks.tar.gz"])
async def test_every_path_refuses_a_doubtful_request(serve: Serve, path: str) -> None:
    """Those that read no body too: it is the connection that is in doubt."""
    serving = await serve(Serving())
    head = f"GET {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"
    assert await statuses(serving, head.encode() + NEXT, 2) == ([400], True)


@pytest.mark.parametrize("version", ["0.9", "2.0", "3.0"])
async def test_another_major_version_is_refused(serve: Serve, version: str) -> None:
    """RFC 9110, section 15.6.6; a later minor version is read as 1.1."""
    serving = await serve(Serving())
    assert await statuses(serving, post(LENGTH, version=version) + NEXT, 2) == ([505], True)
    assert await statuses(serving, post(LENGTH, version="1.2"), 1) == ([200], False)


@pytest.mark.parametrize("request_line", ["POST /graphql", "PUT /graphql", "GET /livez", "POST /nothing"])
async def test_a_body_that_nobody_reads_is_no_request(serve: Serve, request_line: str) -> None:
    """Refused, answered early or sent to a path that takes none: its bytes are skipped, not answered."""
    serving = await serve(Serving())
    head = f"{request_line} HTTP/1.1\r\nhost: evil\r\ncontent-length: {len(NEXT)}\r\n\r\n"
    (_, last), is_closed = await statuses(serving, head.encode() + NEXT + NEXT, 2)
    assert (last, is_closed) == (200, False)
    await serving.until_answered(2)
    assert len(serving.observer.finished) == 2  # type: ignore[attr-defined]
