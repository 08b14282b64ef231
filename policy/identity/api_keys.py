"""Knows callers by API keys."""

import hashlib
import hmac

from headworks.policy.errors import UnknownCaller
from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.identity.settings import ApiKey


def digest_of(key: str) -> str:
    """Return the SHA-256 of a key in lower-case hex: what settings hold instead of the key.

    A fast hash is enough because keys are random, not chosen; use at least 128 random bits.
    """
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


class ApiKeys:
    """The keys that are known, by their digests."""

    def __init__(self, keys: tuple[ApiKey, ...]) -> None:
        self._keys = tuple((bytes.fromhex(key.digest), key) for key in keys)

    def caller(self, key: str) -> Caller:
        """Compare with every known key, so that the time it takes says nothing about which one was close.

        Raises:
            UnknownCaller: it is none of them.
        """
        digest = bytes.fromhex(digest_of(key))
        found: ApiKey | None = None
        for known, owner in self._keys:
            if hmac.compare_digest(digest, known):
                found = owner
        if found is None:
            raise UnknownCaller("the credentials are not valid")
        return Caller(
            tenant=found.tenant,
            subject=found.subject,
            authenticated_by=AuthenticatedBy.API_KEY,
            roles=found.roles,
            attributes=found.attributes,
        )
