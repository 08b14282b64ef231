"""The settings of identity: keys, and whether loopback needs one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key and whose it is."""

    digest: str = field(repr=False)
    """From `digest_of`."""
    tenant: str
    subject: str
    roles: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _DIGEST.fullmatch(self.digest):
            raise ValueError(f"the digest of {self.tenant}/{self.subject} is not 64 lower-case hex digits")
        if not self.tenant or not self.subject:
            raise ValueError("an API key needs a tenant and a subject")


@dataclass(frozen=True, slots=True)
class CredentialSettings:
    """The keys that callers have, and who a caller on this machine is without one."""

    keys: tuple[ApiKey, ...] = ()
    """None by default: nobody off this machine gets in."""
    allow_loopback: bool = True
    """Whoever has a shell here may call without a key; the embedded default needs no set-up."""
    loopback_tenant: str = "local"
    loopback_subject: str = "loopback"
    loopback_roles: tuple[str, ...] = ("operator",)
