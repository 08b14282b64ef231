"""The settings of gRPC."""

from dataclasses import dataclass
from pathlib import Path

from headworks.server.visit.address import require_host
from headworks.server.visit.tls import require_pair


@dataclass(frozen=True, slots=True)
class RpcSettings:
    """Where gRPC is served, and every limit on a peer."""

    host: str = "127.0.0.1"
    """Loopback, IPv6 with brackets or without; another address wants TLS and keys, on which `server/settings.py`
    insists. "::" and "0.0.0.0" both mean every address, of IPv4 and of IPv6: gRPC makes no difference."""
    port: int = 50051
    """0 takes a free one, which `RpcServer.port` then tells."""
    certificate_file: Path | None = None
    """PEM chain; TLS is on when it and its key are set."""
    certificate_key_file: Path | None = None
    """PEM, without a passphrase."""
    max_message_bytes: int = 4 * 1024 * 1024
    """Of one message, before it is parsed; the contract's chunks are at most 1 MiB, and what is larger is cut up. Over
    twice as much gRPC itself refuses, without saying which setting."""
    max_metadata_bytes: int = 16_384
    """Of a call's metadata, counted as HTTP/2 does: names, values and 32 bytes for each pair. Enough for any token, and
    as much as HTTP takes. Over twice as much gRPC itself refuses, without saying which setting."""
    max_accepts: int = 32
    """Calls of one method that are taken up at once from gRPC's core, where no limit of ours sees them."""
    max_connection_streams: int = 128
    """Calls at once on one connection."""
    keepalive_seconds: float = 10.0
    """A silent peer is pinged after this long."""
    keepalive_timeout_seconds: float = 5.0
    """A peer that does not answer a ping for this long is gone, and its turns with it."""
    min_client_ping_seconds: float = 5.0
    """Clients may ping this often, with or without a call, before they are told to go away."""
    send_seconds: float = 30.0
    """How long an event waits for a caller that does not read."""
    linger_seconds: float = 0.2
    """How long a failed call is still read, so that a caller in the middle of a write learns why it failed."""

    def __post_init__(self) -> None:
        require_host(self.host)
        require_pair(self.certificate_file, self.certificate_key_file)
