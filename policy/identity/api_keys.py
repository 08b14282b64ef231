"""Identifies callers by API keys."""

import hashlib
import hmac

from headworks.policy.errors import UnknownCaller
from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.identity.peer import Peer
from headworks.policy.identity.settings import ApiKey, CredentialSettings

MAX_KEY_CHARACTERS = 512
"""A longer credential is refused unread; keys made of 32 random bytes take 43."""

_REFUSED = "the credentials are not valid"


def digest_of(key: str) -> str:
    """Return the SHA-256 of a key in lower-case hex: what settings hold instead of the key.

    A fast hash is enough because keys are random, not chosen; use at least 128 random bits.
    """
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


class ApiKeyIdentifier:
    """Knows callers by `authorization: Bearer <key>` or `x-api-key: <key>`, and local callers without a key."""

    def __init__(self, settings: CredentialSettings) -> None:
        self._settings = settings
        self._keys = tuple((bytes.fromhex(key.digest), key) for key in settings.keys)

    def identify(self, peer: Peer) -> Caller:
        """See `Identifier`. Two credentials in one request must be the same key."""
        metadata, keys = peer.metadata, []
        if "authorization" in metadata:
            keys.append(_bearer(metadata["authorization"]))
        if "x-api-key" in metadata:
            keys.append(_key(metadata["x-api-key"]))
        if not keys:
            return self._anonymous(peer)
        callers = [self._caller(key) for key in keys]
        if any(caller != callers[0] for caller in callers):
            raise UnknownCaller(_REFUSED)
        return callers[0]

    def _anonymous(self, peer: Peer) -> Caller:
        if not (peer.is_loopback and self._settings.allow_loopback):
            raise UnknownCaller("send an API key as authorization (Bearer) or x-api-key")
        return Caller(
            tenant=self._settings.loopback_tenant,
            subject=self._settings.loopback_subject,
            authenticated_by=AuthenticatedBy.LOOPBACK,
            roles=self._settings.loopback_roles,
        )

    def _caller(self, key: str) -> Caller:
        """Compare with every known key, so that the time it takes says nothing about which one was close."""
        digest = bytes.fromhex(digest_of(key))
        found: ApiKey | None = None
        for known, owner in self._keys:
            if hmac.compare_digest(digest, known):
                found = owner
        if found is None:
            raise UnknownCaller(_REFUSED)
        return Caller(
            tenant=found.tenant,
            subject=found.subject,
            authenticated_by=AuthenticatedBy.API_KEY,
            roles=found.roles,
            attributes=found.attributes,
        )


def _bearer(value: object) -> str:
    if not isinstance(value, str):
        raise UnknownCaller(_REFUSED)
    scheme, _, key = value.strip(" ").partition(" ")
    if scheme.lower() != "bearer":
        raise UnknownCaller("authorization must be: Bearer <API key>")
    return _key(key)


def _key(value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_KEY_CHARACTERS:
        raise UnknownCaller(_REFUSED)
    return value.strip(" ")
