"""Who a request is taken to come from: one rule for every transport."""

import pytest

from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.identity.peer import Peer
from headworks.server.visit.loopback import is_loopback
from headworks.server.visit.visit import Visit, peer_name, visit_from

CALLER = Caller("acme", "ann", AuthenticatedBy.API_KEY)
FORWARDING = [
    ("forwarded", "for=203.0.113.7"),
    ("via", "1.1 proxy"),
    ("x-real-ip", "127.0.0.1"),
    ("x-forwarded-for", ""),
    ("x-forwarded-proto", "https"),
    ("x-envoy-expected-rq-timeout-ms", "15000"),
    ("true-client-ip", "203.0.113.7"),
]


class Believing:
    """Knows everybody, and keeps what it was shown."""

    def __init__(self) -> None:
        self.peers: list[Peer] = []

    async def identify(self, peer: Peer) -> Caller:
        self.peers.append(peer)
        return CALLER


async def visit(*pairs: tuple[str, str], host: str = "127.0.0.1", has_tls: bool = True) -> Visit:
    return await visit_from(Believing(), pairs, host=host, has_tls=has_tls)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.9.10", True),
        ("::1", True),
        ("[::1]", True),
        ("::ffff:127.0.0.1", True),
        ("localhost", True),
        ("LocalHost", True),
        ("10.0.0.1", False),
        ("0.0.0.0", False),  # noqa: S104  # every address of this machine, so strangers too
        ("::", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example", False),
        ("fe80::1%eth0", False),
        ("2001:db8::7f00:1", False),
        ("::ffff:10.0.0.1", False),
        ("127.1", False),
        ("", False),
    ],
)
async def test_one_rule_says_which_hosts_are_this_machine(host: str, expected: bool) -> None:
    """Peers, names that were asked for and addresses to listen on are read alike; what is not known is elsewhere."""
    assert is_loopback(host) is expected
    assert (await visit(host=host)).is_loopback is expected
    name = f"[{host}]:80" if host.startswith((":", "2", "fe")) else host
    assert (await visit(("host", name))).is_loopback is expected


async def test_a_direct_local_caller_is_local() -> None:
    """Nothing crossed a network, with TLS or without."""
    plain = await visit(("user-agent", "curl"), has_tls=False)
    assert (plain.is_loopback, plain.is_encrypted) == (True, False)
    assert (await visit()).is_encrypted


@pytest.mark.parametrize("header", FORWARDING, ids=lambda header: header[0])
async def test_whom_a_proxy_forwards_is_neither_local_nor_known_to_be_encrypted(
    header: tuple[str, str],
) -> None:
    """The proxy's address and TLS are not theirs; an address of ours that a sender wrote itself is no proof."""
    forwarded = await visit(header)
    assert (forwarded.is_loopback, forwarded.is_encrypted) == (False, False)


async def test_a_name_that_only_resolves_to_this_machine_is_not_local() -> None:
    """A web page can lead a browser here by a name of its own (DNS rebinding)."""
    assert not (await visit(("host", "evil.example:8080"))).is_loopback
    assert not (await visit(("host", "localhost"), ("host", "evil.example"))).is_loopback


async def test_identity_and_visit_see_the_same_facts() -> None:
    """Else a caller could be let in for what policy then does not weigh."""
    believing = Believing()
    seen = await visit_from(believing, [("x-api-key", "a"), ("x-api-key", "b")], host="10.0.0.1", has_tls=True)
    (peer,) = believing.peers
    assert (peer.is_loopback, peer.is_encrypted) == (seen.is_loopback, seen.is_encrypted) == (False, True)
    assert peer.metadata == {"x-api-key": "a, b"}
    assert seen.caller is CALLER


async def test_trace_context_comes_along_and_nothing_else() -> None:
    """Credentials do not stay for the length of a turn."""
    seen = await visit(("traceparent", "00-1"), ("tracestate", "a=b"), ("authorization", "Bearer x"))
    assert seen.trace_headers == {"traceparent": "00-1", "tracestate": "a=b"}
    assert "Bearer" not in repr(seen)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("localhost", "localhost"),
        ("", ""),
    ],
)
async def test_a_peer_is_counted_by_what_it_cannot_change_at_will(host: str, name: str) -> None:
    """Whoever has an IPv6 network has 2**64 addresses in it."""
    assert peer_name(host) == name
    assert (await visit(host=host)).peer == name
