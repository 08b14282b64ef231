"""Keys come over a real connection, from where the issuer says that they are, or not at all."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.identity.discovery import MAX_BYTES, fetch_keys
from headworks.policy.identity.settings import Issuer
from headworks.policy.identity.tokens import TokenCallers
from tests.policy.identity.issuing import AUDIENCE, DISCOVERY, IssuingFake, serving
from tests.server.certificates import make_certificate


def issuer(url: str, **fields: Any) -> Issuer:
    return Issuer(url, (AUDIENCE,), **fields)


async def test_keys_are_found_by_discovery_and_let_a_token_in() -> None:
    """The whole way, from the issuer's name to its caller."""
    async with serving() as server:
        fake = IssuingFake(server.url)
        server.documents = {
            DISCOVERY: {"issuer": server.url, "jwks_uri": f"{server.url}/keys"},
            "/keys": fake.document(),
        }
        caller = await TokenCallers((issuer(server.url),)).caller(fake.token())
        assert caller == Caller("acme", "ann", AuthenticatedBy.JWT)
        assert server.asked == [DISCOVERY, "/keys"]


async def test_an_address_of_keys_needs_no_discovery() -> None:
    """Some issuers publish keys and nothing else."""
    async with serving() as server:
        server.documents = {"/keys": {"keys": []}}
        assert await fetch_keys(issuer(server.url, keys_url=f"{server.url}/keys")) == {"keys": []}
        assert server.asked == ["/keys"]


async def test_an_issuer_with_tls_is_checked_against_its_authorities(tmp_path: Path) -> None:
    """Who can stand between could otherwise hand out keys of their own."""
    certificate = make_certificate(tmp_path)
    async with serving(certificate) as server:
        server.documents = {"/keys": {"keys": []}}
        trusted = issuer(server.url, keys_url=f"{server.url}/keys", ca_file=certificate.file)
        assert await fetch_keys(trusted) == {"keys": []}
        with pytest.raises(aiohttp.ClientError):
            await fetch_keys(issuer(server.url, keys_url=f"{server.url}/keys"))


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://other.example", "jwks_uri": "http://localhost/keys"},
        {"jwks_uri": "http://localhost/keys"},
        {"issuer": "SELF"},
        {"issuer": "SELF", "jwks_uri": 7},
        {"issuer": "SELF", "jwks_uri": "http://keys.example/"},
        {"issuer": "SELF", "jwks_uri": "file:///etc/keys.json"},
    ],
)
async def test_a_discovery_document_of_another_or_to_a_clear_network_is_not_followed(document: dict[str, Any]) -> None:
    """It says whose it is, to the letter (OpenID Connect Discovery 1.0, section 4.3)."""
    async with serving() as server:
        server.documents = {DISCOVERY: {k: server.url if v == "SELF" else v for k, v in document.items()}}
        with pytest.raises(ValueError, match=r"discovery document|must begin with https"):
            await fetch_keys(issuer(server.url))


@pytest.mark.parametrize(
    "answer",
    [
        web.Response(status=302, headers={"location": "http://localhost:9/keys"}),
        web.Response(status=500),
        web.Response(text="not JSON"),
        web.Response(text="[]"),
        web.Response(body=b'{"keys": "' + b"x" * MAX_BYTES + b'"}'),
    ],
    ids=["a redirect", "an error", "no JSON", "no object", "too long"],
)
async def test_an_answer_that_is_no_key_set_is_none(answer: web.Response) -> None:
    """A redirect could lead off TLS; a long answer could fill the process."""
    async with serving() as server:
        server.documents = {"/keys": answer}
        with pytest.raises((ValueError, TypeError)):
            await fetch_keys(issuer(server.url, keys_url=f"{server.url}/keys"))


async def test_an_issuer_that_does_not_answer_is_given_up() -> None:
    """A caller waits for it (agentgateway#3412)."""

    is_over = asyncio.Event()

    async def silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await is_over.wait()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    with pytest.raises(TimeoutError):
        await fetch_keys(issuer(url, timeout_seconds=0.2))
    is_over.set()
    server.close()
    await server.wait_closed()
