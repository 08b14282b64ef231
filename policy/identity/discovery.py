"""Fetches an issuer's keys, found by OpenID Connect Discovery where their address is not set.

Source: OpenID Connect Discovery 1.0, section 4; RFC 7517, section 5.
"""

import asyncio
import json
import ssl
from collections.abc import Mapping
from typing import Any

import aiohttp

from headworks.policy.identity.settings import Issuer, require_secure

MAX_BYTES = 262_144
"""Of one document: a key takes about one KiB."""


async def fetch_keys(issuer: Issuer) -> Mapping[str, Any]:
    """Return the issuer's JWKS document.

    Raises:
        aiohttp.ClientError, OSError, TimeoutError: it cannot be had.
        ValueError: an answer is no JSON object, is too long, or is of another issuer.
    """
    tls = await asyncio.to_thread(ssl.create_default_context, cafile=issuer.ca_file)  # it reads the system's files
    async with (
        asyncio.timeout(issuer.timeout_seconds),
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls)) as session,
    ):
        return await _document(session, issuer.keys_url or await _discover(session, issuer.issuer))


async def _discover(session: aiohttp.ClientSession, issuer: str) -> str:
    found = await _document(session, issuer.rstrip("/") + "/.well-known/openid-configuration")
    url = found.get("jwks_uri")
    if found.get("issuer") != issuer or not isinstance(url, str):
        raise ValueError("the discovery document is not this issuer's, or names no keys")
    require_secure(url)
    return url


async def _document(session: aiohttp.ClientSession, url: str) -> Mapping[str, Any]:
    """Get one JSON object. A redirect is not followed: it could lead off TLS."""
    async with session.get(url, allow_redirects=False, headers={"accept": "application/json"}) as reply:
        if reply.status != 200:
            raise ValueError(f"the answer has status {reply.status}")
        body = await reply.content.read(MAX_BYTES + 1)
        while len(body) <= MAX_BYTES and (more := await reply.content.read(MAX_BYTES + 1 - len(body))):
            body += more
    if len(body) > MAX_BYTES:
        raise ValueError(f"the answer is longer than {MAX_BYTES} bytes")
    value = json.loads(body)
    if not isinstance(value, dict):
        raise TypeError("the answer is no JSON object")
    return value
