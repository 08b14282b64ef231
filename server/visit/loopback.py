"""What a request says about who sent it. Pure."""

from ipaddress import IPv6Address, ip_address

from starlette.requests import Request

from headworks.server.visit.forwarding import is_forwarded


def is_loopback_peer(request: Request) -> bool:
    """Whether the sender is a program on this machine that meant to talk to us.

    Not when a proxy forwards for somebody else, and not when a browser was led here by a name that resolves
    to loopback (DNS rebinding): then `Host` is that name.
    """
    if request.client is None or is_forwarded(request.headers):
        return False
    return _is_loopback(request.client.host) and _is_loopback(_host_of(request.headers.get("host", "")))


def _host_of(authority: str) -> str:
    if authority.startswith("["):
        return authority[1:].partition("]")[0]
    return authority.partition(":")[0]


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None  # IPv4 on a port that takes both
    return (mapped or address).is_loopback
