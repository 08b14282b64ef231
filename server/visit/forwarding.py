"""What a call's metadata or headers say about who sent it. Pure; the same over gRPC and HTTP."""

from collections.abc import Container, Iterable

_FORWARDING = ("forwarded", "via", "x-forwarded-for", "x-real-ip")
"""A proxy names whom it forwards for in one of these (RFC 7239; RFC 9110, section 7.6.3; nginx, Envoy and HAProxy)."""


def joined(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Values by name. A name sent twice is joined, so that two credentials never pass as one of them."""
    values: dict[str, str] = {}
    for name, value in pairs:
        values[name] = f"{values[name]}, {value}" if name in values else value
    return values


def is_forwarded(names: Container[str]) -> bool:
    """Whether a proxy stands between: then the address that the transport saw is the proxy's, not the sender's.

    Args:
        names: Of the metadata or headers, lower case where the container minds.
    """
    return any(name in names for name in _FORWARDING)
