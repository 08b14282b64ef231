"""Who is asking: what identity establishes and policy decides on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


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
