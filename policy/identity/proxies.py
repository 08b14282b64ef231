"""Identifies callers by what a trusted proxy says of them. From anybody else the same headers are ignored."""

from collections.abc import Mapping
from ipaddress import ip_address, ip_network

from headworks.policy.errors import UnknownCaller
from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.identity.names import name_from, roles_from
from headworks.policy.identity.peer import Peer
from headworks.policy.identity.settings import TrustedProxy


class ProxyCallers:
    """The proxies that are trusted, by where they call from."""

    def __init__(self, proxies: tuple[TrustedProxy, ...]) -> None:
        self._proxies = tuple((tuple(map(ip_network, proxy.hosts)), proxy) for proxy in proxies)

    def caller(self, peer: Peer) -> Caller | None:
        """Return whom a trusted proxy vouches for; None where no such proxy says anything.

        Raises:
            UnknownCaller: what it says names nobody: half of it is missing, or is longer than any name.
        """
        proxy = self._proxy(peer.host) if self._proxies else None
        if proxy is None or not {proxy.tenant_header, proxy.subject_header, proxy.roles_header} & peer.metadata.keys():
            return None
        roles = [role.strip() for role in peer.metadata.get(proxy.roles_header, "").split(",") if role.strip()]
        return Caller(
            tenant=_name(peer.metadata, proxy.tenant_header),
            subject=_name(peer.metadata, proxy.subject_header),
            authenticated_by=AuthenticatedBy.PROXY,
            roles=roles_from(roles),
        )

    def _proxy(self, host: str) -> TrustedProxy | None:
        try:
            address = ip_address(host.partition("%")[0])
        except ValueError:
            return None
        address = getattr(address, "ipv4_mapped", None) or address
        return next((proxy for networks, proxy in self._proxies if any(address in one for one in networks)), None)


def _name(metadata: Mapping[str, str], header: str) -> str:
    value = metadata.get(header, "").strip(" ")
    if "," in value:
        raise UnknownCaller("the credentials are not valid")  # a header that came twice is joined with a comma
    return name_from(value)
