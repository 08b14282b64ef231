"""The settings of gRPC."""

from dataclasses import dataclass
from pathlib import Path

from headworks.server.visit.address import require_host
from headworks.server.visit.tls import require_pair

_POSITIVE = (
    *("max_connections", "max_connection_streams", "max_pending_calls", "handshake_seconds"),
    *("connection_idle_seconds", "connection_age_seconds", "connection_age_grace_seconds"),
)


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
    client_ca_file: Path | None = None
    """Authorities as PEM. When it is set, every client must show a certificate of theirs (mTLS); whose it is,
    `policy.credentials.certificates` says."""
    max_message_bytes: int = 4 * 1024 * 1024
    """Of one message, before it is parsed; the contract's chunks are at most 1 MiB, and what is larger is cut up. Over
    twice as much gRPC itself refuses, without saying which setting."""
    max_metadata_bytes: int = 16_384
    """Of a call's metadata, counted as HTTP/2 does: names, values and 32 bytes for each pair. Enough for any token, and
    as much as HTTP takes. Over twice as much gRPC itself refuses, without saying which setting."""
    max_accepts: int = 128
    """Calls of one method that are taken up at once from gRPC's core, where no limit of ours sees them."""
    max_connections: int = 2_048
    """Open connections of all peers together, from the moment they are accepted; one more is closed before its
    handshake. Each call that `flow` lets stay (1,536 by default) may have one of its own. gRPC in Python has no such
    limit for one peer: see docs/connections.md."""
    max_connection_streams: int = 128
    """Calls at once on one connection."""
    max_pending_calls: int = 3_000
    """Calls of one method, beside `max_accepts`, that gRPC keeps until the event loop takes them up; it ends others
    with CANCELLED and without a reason of ours. It is as high as gRPC's own, so that a call that is too much is nearly
    always refused by name, and that limits in `flow` are met first."""
    handshake_seconds: float = 10.0
    """From the connection to the end of TLS and of the first HTTP/2 settings, as long as HTTP waits for headers. A
    connection that says nothing holds its place among `max_connections` for so long."""
    connection_idle_seconds: float = 300.0
    """How long a connection without a call is kept; clients of gRPC connect again with their next call. Make it longer
    than a proxy before us keeps its connections, so that it is the proxy that closes them."""
    connection_age_seconds: float | None = None
    """After this long, 10 % more or less, a connection takes no new call, so that its client connects again and load
    balancers can choose again; none keeps connections as long as their peers want."""
    connection_age_grace_seconds: float = 600.0
    """How long the calls of such a connection may go on: as long as a turn may take. Then they are cut."""
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
        if self.client_ca_file is not None and self.certificate_file is None:
            raise ValueError("client_ca_file needs certificate_file: without TLS nobody shows a certificate")
        for name in _POSITIVE:
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"{name} must be more than 0")
