"""One request, whatever it came over: who made it, and what is known of its way here."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Address, ip_address, ip_network

from headworks.policy.identity.caller import Caller, Identifier
from headworks.policy.identity.peer import Peer
from headworks.server.visit.forwarding import is_forwarded, is_meant_for_loopback, joined
from headworks.server.visit.loopback import is_loopback

_TRACE_HEADERS = ("traceparent", "tracestate")
_IPV6_PREFIX_BITS = 64
"""The least that a network gives to one customer (RFC 6177), and so the least that counts as one peer."""


@dataclass(frozen=True, slots=True)
class Visit:
    """Who made the request, and over what."""

    caller: Caller
    is_encrypted: bool
    """See `Peer`, as for the next one."""
    is_loopback: bool
    trace_headers: Mapping[str, str] = field(default_factory=dict)
    """W3C trace context that the caller sent; empty when none."""
    peer: str = ""
    """The host at the other end of the connection, without its port; "" when the transport names none. Limits per
    peer count by it, see `peer_name`."""


async def visit_from(
    identifier: Identifier,
    pairs: Iterable[tuple[str, str]],
    *,
    host: str,
    has_tls: bool,
    certificate: bytes | None = None,
) -> Visit:
    """Identify the sender of a request, before any of its content is read.

    Callers that a local proxy forwards are not local, and nobody knows how their bytes came to the proxy.

    Args:
        pairs: The request's metadata or headers, names in lower case.
        host: The address at the other end of the connection, without its port; "" when the transport names none.
        has_tls: The connection itself is TLS.
        certificate: What the other end has shown, verified, in DER; where a proxy stands between it is the proxy's.
    Raises:
        UnknownCaller: no credentials, or none that are valid.
        IssuerUnavailable: whether they are valid cannot be found out now.
    """
    metadata = joined(pairs)
    is_direct = not is_forwarded(metadata)
    peer = Peer(
        metadata,
        is_loopback=is_direct and is_loopback(host) and is_meant_for_loopback(metadata),
        is_encrypted=is_direct and has_tls,
        certificate=certificate if is_direct else None,
        host=host,
    )
    return Visit(
        caller=await identifier.identify(peer),
        is_encrypted=peer.is_encrypted,
        is_loopback=peer.is_loopback,
        trace_headers={name: metadata[name] for name in _TRACE_HEADERS if name in metadata},
        peer=peer_name(host),
    )


@lru_cache(maxsize=1024)
def peer_name(host: str) -> str:
    """Return the name under which a peer's requests are counted: its address, in IPv6 the network that it is in."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv4Address):
        return str(address)
    return str(address.ipv4_mapped or ip_network((int(address), _IPV6_PREFIX_BITS), strict=False))
