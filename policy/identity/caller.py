"""Who is asking: what identity establishes and policy decides on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from headworks.policy.identity.peer import Peer


class AuthenticatedBy(StrEnum):
    """How the caller proved who they are, weakest first."""

    LOOPBACK = "loopback"
    """No credentials, over the loopback interface; only where settings allow it."""
    API_KEY = "api_key"
    PROXY = "proxy"
    """A proxy whom the settings trust vouches for them."""
    JWT = "jwt"
    """A token that a trusted issuer signed."""
    CERTIFICATE = "certificate"
    """Their own certificate, from an authority that the settings trust (mTLS)."""


@dataclass(frozen=True, slots=True)
class Caller:
    """One authenticated caller."""

    tenant: str
    """Who pays; limits and ledgers are kept by tenant."""
    subject: str
    """The person or service within the tenant."""
    authenticated_by: AuthenticatedBy
    roles: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Free ABAC attributes, from the identity provider, never from the caller's own request."""


class Identifier(Protocol):
    """The port to identity, which says who a peer is."""

    async def identify(self, peer: Peer) -> Caller:
        """Name the caller. It waits for nothing but an issuer's new keys, and for these a bounded time.

        Raises:
            UnknownCaller: the peer showed no credentials where some are needed, or credentials that are not valid;
                garbage of any kind is the latter. Wrong credentials are never taken for none.
            IssuerUnavailable: whether they are valid cannot be found out now.
        """
        ...
