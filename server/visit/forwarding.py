"""What a request's metadata or headers say about its way here. Pure; the same over gRPC and HTTP."""

from collections.abc import Iterable, Mapping

from headworks.server.visit.loopback import is_loopback

_FORWARDING_NAMES = frozenset({"forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip"})
"""A proxy names whom it forwards for in one of these (RFC 7239; RFC 9110, section 7.6.3; nginx, HAProxy, CDNs)."""
_FORWARDING_PREFIXES = ("x-forwarded-", "x-envoy-")
"""Names that proxies add beside the sender's address (Envoy, Traefik); Envoy by default adds no address at all."""


def joined(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return values by name. A name sent twice is joined, so that two credentials never pass as one of them."""
    values: dict[str, str] = {}
    for name, value in pairs:
        values[name] = f"{values[name]}, {value}" if name in values else value
    return values


def is_forwarded(names: Iterable[str]) -> bool:
    """Whether a proxy stands between: then the address that the transport saw is the proxy's, not the sender's.

    Args:
        names: Of the metadata or headers, in lower case.
    """
    return any(name in _FORWARDING_NAMES or name.startswith(_FORWARDING_PREFIXES) for name in names)


def is_meant_for_loopback(metadata: Mapping[str, str]) -> bool:
    """Whether the sender asked for this machine by a loopback name, as far as the request names a host.

    A browser may be led here by a name of somebody else's that resolves to loopback (DNS rebinding): then `host`
    is that name.
    """
    return "host" not in metadata or is_loopback(_without_port(metadata["host"]))


def _without_port(authority: str) -> str:
    if authority.startswith("["):
        return authority.partition("]")[0] + "]"
    return authority.partition(":")[0]
