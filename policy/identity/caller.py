"""Who is asking: what identity establishes and policy decides on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


class AuthenticatedBy(StrEnum):
    """How the caller proved who they are, weakest first."""

    LOOPBACK = "loopback"
    """No credentials, over the loopback interface; only where settings allow it."""
    API_KEY = "api_key"


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
    """The port to identity: says who a peer is from what it sent."""

    def identify(self, metadata: Mapping[str, str], *, peer_is_loopback: bool) -> Caller:
        """Name the caller. Pure and quick: no I/O, so it may run before anything else of a call.

        Args:
            metadata: The call's metadata or headers, names in lower case.
            peer_is_loopback: The peer's address, as the transport saw it, is on this machine.
        Raises:
            UnknownCaller: no credentials where some are needed, or credentials that are not valid; also for
                garbage of any kind. Wrong credentials are never taken for none.
        """
        ...
