"""An issuer of tokens with real keys, that rotates them, fails and counts how often it is asked."""

import json
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from headworks.policy.identity.settings import Issuer
from tests.server.certificates import Certificate

DISCOVERY = "/.well-known/openid-configuration"
NAME = "https://login.example"
AUDIENCE = "headworks"


class IssuingFake:
    """Signs what it is told to sign."""

    def __init__(self, name: str = NAME) -> None:
        self.name = name
        self.fetches = 0
        self.error: Exception | None = None
        self.keys: dict[str, tuple[str, Any]] = {}
        self.more: list[Mapping[str, Any]] = []
        """Further entries of its key set."""
        self.rotate("first")

    def rotate(self, key_id: str, algorithm: str = "ES256") -> None:
        """Sign with a new key from now on; earlier ones stay known until `forget`."""
        made: Any
        if algorithm.startswith("ES"):
            made = ec.generate_private_key(ec.SECP256R1())
        elif algorithm == "EdDSA":
            made = ed25519.Ed25519PrivateKey.generate()
        else:
            made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.keys[key_id] = (algorithm, made)
        self.current = key_id

    def forget(self, key_id: str) -> None:
        del self.keys[key_id]

    def document(self) -> dict[str, Any]:
        return {"keys": [*self.more, *(_public(key_id, *key) for key_id, key in self.keys.items())]}

    async def fetch(self, _: Issuer) -> Mapping[str, Any]:
        self.fetches += 1
        if self.error is not None:
            raise self.error
        return self.document()

    def claims(self, **changed: Any) -> dict[str, Any]:
        """Return good claims; None leaves one out."""
        now = int(time.time())
        good = {"iss": self.name, "aud": AUDIENCE, "sub": "ann", "tenant": "acme", "iat": now, "exp": now + 60}
        return {name: value for name, value in {**good, **changed}.items() if value is not None}

    def token(self, header: Mapping[str, Any] | None = None, **changed: Any) -> str:
        algorithm, key = self.keys[self.current]
        headers = {"kid": self.current, **(header or {})}
        headers = {name: value for name, value in headers.items() if value is not None}
        return jwt.encode(self.claims(**changed), key, algorithm, headers=headers)


class IssuingServer:
    """Serves documents by path; whatever else is asked for is not found."""

    def __init__(self) -> None:
        self.documents: dict[str, web.Response | Mapping[str, Any]] = {}
        self.asked: list[str] = []
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        found = self.documents.get(request.path)
        if found is None:
            raise web.HTTPNotFound
        return found if isinstance(found, web.Response) else web.json_response(found)


@asynccontextmanager
async def serving(certificate: Certificate | None = None) -> AsyncIterator[IssuingServer]:
    server, tls = IssuingServer(), None
    if certificate is not None:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(certificate.file, certificate.key_file)
    app = web.Application()
    app.router.add_get("/{path:.*}", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    port = runner.addresses[0][1]
    server.url = f"{'https' if tls else 'http'}://localhost:{port}"
    try:
        yield server
    finally:
        await runner.cleanup()


def issuer(name: str = NAME, **fields: Any) -> Issuer:
    return Issuer(name, (AUDIENCE,), **fields)


def _public(key_id: str, algorithm: str, key: Any) -> dict[str, Any]:
    kinds: dict[str, Any] = {"ES": ECAlgorithm, "Ed": OKPAlgorithm}
    written = kinds.get(algorithm[:2], RSAAlgorithm).to_jwk(key.public_key())
    return {**(json.loads(written) if isinstance(written, str) else written), "kid": key_id, "use": "sig"}
