"""The one rule that says which addresses are this machine's own. Pure."""

from functools import lru_cache
from ipaddress import IPv6Address, ip_address

from headworks.server.visit.address import bare


@lru_cache(maxsize=1024)
def is_loopback(host: str) -> bool:
    """Whether a host is reached from this machine only.

    The same rule reads the address of a peer, the name in a `Host` header and the address to listen on.

    Args:
        host: An address or a name, without its port; IPv6 with brackets or without.
    """
    if host.lower() == "localhost":
        return True
    try:
        address = ip_address(bare(host))
    except ValueError:
        return False
    # A port that takes both families shows an IPv4 peer as ::ffff:127.0.0.1.
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback
