"""TLS on the HTTP port, where `HttpServer` is given a context; `main.py` gives it none yet."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from headworks.server.visit.tls import server_context
from tests.server.certificates import Certificate, make_certificate
from tests.server.http.conftest import ADA_KEY, Serve, Serving, raw

TURN = "mutation T($i: TurnInput!) { turn(input: $i) { __typename } }"


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    return make_certificate(tmp_path)


@pytest.fixture
async def serving(serve: Serve, certificate: Certificate) -> Serving:
    return await serve(Serving(tls=server_context(certificate.file, certificate.key_file)))


@asynccontextmanager
async def trusting(root: Path, serving: Serving) -> AsyncIterator[httpx.AsyncClient]:
    context = ssl.create_default_context(cafile=str(root))
    url, headers = f"https://127.0.0.1:{serving.server.port}", {"authorization": f"Bearer {ADA_KEY}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, verify=context, trust_env=False) as client:
        yield client


async def completes_a_turn(root: Path, serving: Serving) -> None:
    async with trusting(root, serving) as client:
        reply = await client.post("/graphql", json={"query": TURN, "variables": {"i": {"text": ["Hello."]}}})
    assert reply.json() == {"data": {"turn": {"__typename": "TurnFinished"}}}
    assert serving.visits[-1].is_encrypted


async def test_a_client_with_the_root_completes_a_turn(serving: Serving, certificate: Certificate) -> None:
    """The same turn as without TLS, and policy hears that it was encrypted."""
    await completes_a_turn(certificate.file, serving)


async def test_a_client_that_does_not_trust_the_certificate_sends_nothing(
    serving: Serving, certificate: Certificate, tmp_path: Path
) -> None:
    """It is told why, before its key leaves the machine; the next one is served."""
    async with trusting(make_certificate(tmp_path, "stranger").file, serving) as client:
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            await client.get("/livez")
    await completes_a_turn(certificate.file, serving)


@pytest.mark.parametrize("sent", [b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n", b"\x16\x03\x01\xff\xff" + bytes(50)])
async def test_a_client_without_tls_gets_no_answer(serving: Serving, certificate: Certificate, sent: bytes) -> None:
    """Not a byte of the application's; garbage in a handshake ends its own connection alone."""
    answered = await raw(serving, sent)
    assert b"HTTP/1.1" not in answered
    assert serving.observer.finished == []  # type: ignore[attr-defined]
    await completes_a_turn(certificate.file, serving)
