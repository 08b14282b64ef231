"""Addresses to listen on. An IPv6 address may stand alone with brackets or without; before a port it needs them."""

from ipaddress import IPv6Address


def bare(host: str) -> str:
    """Return a host without brackets, as sockets take it."""
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def with_port(host: str, port: int) -> str:
    """Return "host:port", as gRPC takes it and people read it."""
    host = bare(host)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def require_host(host: str) -> None:
    """Hold a setting to an address or a name alone.

    Raises:
        ValueError: a port or a scheme stands beside it.
    """
    if ":" not in bare(host):
        return
    try:
        IPv6Address(bare(host))
    except ValueError:
        raise ValueError(f"host is an address or a name alone, not {host}; the port is a setting of its own") from None
