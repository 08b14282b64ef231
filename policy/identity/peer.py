"""What is known of whoever sent a request, before anybody believes what it says."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Peer:
    """The sender of one request: what it sent about itself, and what the transport saw."""

    metadata: Mapping[str, str] = field(repr=False)
    """The request's metadata or headers, names in lower case. Credentials are among them, so it is never shown."""
    is_loopback: bool
    """The sender is a program on this machine. Callers that a local proxy forwards are not local."""
    is_encrypted: bool
    """TLS protects the bytes all the way from the sender to this process, as far as anybody can know."""
    certificate: bytes | None = field(default=None, repr=False)
    """The client's certificate in DER, as the transport verified it; None when the client showed none."""
    host: str = ""
    """The address at the other end of the connection, without its port; "" when the transport names none."""
