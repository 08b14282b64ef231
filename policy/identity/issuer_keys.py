"""The public keys of one issuer of tokens: fetched when they are needed, kept, and followed as they change."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from jwt import PyJWK
from jwt.exceptions import PyJWTError

from headworks.policy.errors import IssuerUnavailable
from headworks.policy.identity.settings import Issuer

_log = logging.getLogger("headworks.identity")
_FAMILIES = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
"""Types of keys by how an algorithm's name begins; none of them is a shared secret."""
MAX_KEYS = 64
"""Of one issuer; more are not kept."""

Fetch = Callable[[Issuer], Awaitable[Mapping[str, Any]]]


class IssuerKeys:
    """Keys by their id. There is one fetch at a time, and all who need it wait for the same one."""

    def __init__(self, issuer: Issuer, fetch: Fetch, now: Callable[[], float] = time.monotonic) -> None:
        """Know no key yet.

        Args:
            fetch: Gets the issuer's JWKS document; whatever it raises means that there is none now.
        """
        self._issuer = issuer
        self._fetch = fetch
        self._now = now
        self._documents: tuple[Mapping[str, Any], ...] = ()
        self._ready: dict[tuple[str | None, str], PyJWK] = {}
        """Keys that tokens have asked for, by what they asked; to make one ready costs as much as to verify with it."""
        self._fetched_at: float | None = None
        self._tried_at: float | None = None
        self._fetching: asyncio.Task[None] | None = None

    async def find(self, key_id: str | None, algorithm: str) -> PyJWK | None:
        """Return the key that a token names, ready for that algorithm; None when the issuer has none.

        Args:
            key_id: Without one the issuer must have exactly one key for the algorithm.
        Raises:
            IssuerUnavailable: no keys are known that are fresh enough, and none can be had now.
        """
        key = self._known(key_id, algorithm)
        if key is not None and not self._is_older_than(self._issuer.refresh_seconds):
            return key
        if self._may_try():
            self._fetching = asyncio.create_task(self._refresh())
        is_usable = not self._is_older_than(self._issuer.max_stale_seconds)
        if self._fetching is not None and not (key is not None and is_usable):
            await asyncio.shield(self._fetching)
        if self._is_older_than(self._issuer.max_stale_seconds):
            raise IssuerUnavailable(f"the keys of {self._issuer.issuer} cannot be had now")
        return self._known(key_id, algorithm)

    def _known(self, key_id: str | None, algorithm: str) -> PyJWK | None:
        if (ready := self._ready.get((key_id, algorithm))) is not None:
            return ready
        fitting = [one for one in self._documents if _fits(one, key_id, algorithm)]
        if len(fitting) != 1:
            return None
        try:
            made = self._ready[key_id, algorithm] = PyJWK({**fitting[0]}, algorithm)
        except PyJWTError:
            return None
        return made

    def _is_older_than(self, seconds: float) -> bool:
        return self._fetched_at is None or self._now() - self._fetched_at > seconds

    def _may_try(self) -> bool:
        if self._fetching is not None and not self._fetching.done():
            return False
        return self._tried_at is None or self._now() - self._tried_at >= self._issuer.retry_seconds

    async def _refresh(self) -> None:
        self._tried_at = self._now()
        try:
            document = await self._fetch(self._issuer)
            self._documents, self._ready = _usable(document), {}
        except Exception as error:  # noqa: BLE001  # whatever another's server does, the old keys stand
            _log.warning("issuer.keys_not_fetched", extra={"issuer": self._issuer.issuer, "why": type(error).__name__})
            return
        self._fetched_at = self._now()
        _log.info("issuer.keys_fetched", extra={"issuer": self._issuer.issuer, "keys": len(self._documents)})


def _usable(document: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return the keys that may verify a signature; a secret among them is left out (RFC 7517, section 4)."""
    found = document["keys"]
    if not isinstance(found, list):
        raise TypeError("keys is not a list")
    keys = [key for key in found[:MAX_KEYS] if isinstance(key, dict) and key.get("kty") in _FAMILIES.values()]
    return tuple(key for key in keys if key.get("use", "sig") == "sig" and "verify" in key.get("key_ops", ("verify",)))


def _fits(key: Mapping[str, Any], key_id: str | None, algorithm: str) -> bool:
    if key_id is not None and key.get("kid") != key_id:
        return False
    return bool(key["kty"] == _FAMILIES.get(algorithm[:2]) and key.get("alg", algorithm) == algorithm)
