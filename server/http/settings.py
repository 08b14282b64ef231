"""The settings of HTTP."""

from dataclasses import dataclass

from headworks.server.visit.address import require_host


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Where HTTP is served, and every limit on a peer."""

    host: str = "127.0.0.1"
    """Loopback, IPv6 with brackets or without; another address is refused by `server/settings.py` unless
    `serve_strangers_in_clear` is set. "::" means every address, of IPv4 and of IPv6."""
    port: int = 8080
    """0 takes a free one, which `HttpServer.port` then tells."""
    backlog: int = 128
    """Connections that the kernel keeps waiting to be accepted."""
    max_connections: int = 256
    """Open connections; one more is answered 503 and closed. Each costs at most about 192 KiB of buffers."""
    max_peer_connections: int = 192
    """Of these, connections of one host, in IPv6 of one network of 64 bits; one more is answered 429 and closed. Raise
    it to `max_connections` where a proxy forwards everybody's requests."""
    max_concurrent_requests: int = 64
    """GraphQL and bundle requests at once, from when a body is whole until its answer is sent; a turn counts as one.
    Probes and metrics are always answered."""
    max_tenant_requests: int = 48
    """Of these, requests of one tenant, so that a quarter is left for the others; one more is answered 429."""
    max_url_bytes: int = 2_048
    """Path and query; our longest path has 25."""
    max_header_bytes: int = 16_384
    """All header lines of a request; enough for any token, and as much as other servers take."""
    max_body_bytes: int = 262_144
    """Of a GraphQL request: four text parts of 64 KiB, which is as much as the contract takes in a message."""
    max_held_body_bytes: int = 16 * 1024 * 1024
    """Of all bodies that are being read; 64 whole ones."""
    max_own_body_bytes: int = 12 * 1024 * 1024
    """Of these, bytes of one host and of one tenant, so that a quarter is left for the others; over it is answered
    429."""
    header_timeout_seconds: float = 10.0
    """From the connection, or from a request's first byte, to the end of its headers."""
    keep_alive_seconds: int = 15
    """How long a connection may idle between requests; longer than a scrape or poll takes to come back in bursts."""
    body_timeout_seconds: float = 10.0
    """From the end of a request's headers to the end of its body; 26 KB/s for the largest one."""
    request_timeout_seconds: float = 120.0
    """From the end of the body to the answer; a whole turn has to fit."""
    answer_timeout_seconds: float = 30.0
    """From when a client falls behind in reading its answer to when it has it whole; then its connection is cut."""
    retry_after_seconds: int = 1
    """What a caller that met a limit is told to wait."""
    has_graphiql: bool = False
    """Serve the GraphiQL page on GET /graphql; its scripts come from a CDN, so it is for development."""

    def __post_init__(self) -> None:
        require_host(self.host)
