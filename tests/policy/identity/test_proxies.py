"""Headers that name a caller count from a trusted proxy, and from nobody else."""

from collections.abc import Mapping

import pytest

from headworks.policy.errors import UnknownCaller
from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.identity.credentials import CredentialIdentifier
from headworks.policy.identity.peer import Peer
from headworks.policy.identity.settings import CredentialSettings, TrustedProxy

KNOWS_PROXY = CredentialIdentifier(CredentialSettings(proxies=(TrustedProxy(("10.1.0.0/16", "2001:db8::7")),)))
ANN = {"x-headworks-tenant": "acme", "x-headworks-subject": "ann", "x-headworks-roles": "analyst, reader"}


def peer(metadata: Mapping[str, str], host: str = "10.1.2.3") -> Peer:
    return Peer(metadata, is_loopback=False, is_encrypted=True, host=host)


@pytest.mark.parametrize("host", ["10.1.2.3", "::ffff:10.1.2.3", "2001:db8::7"])
async def test_a_trusted_proxy_says_who_calls(host: str) -> None:
    """From where it calls, in whichever form the address comes."""
    caller = await KNOWS_PROXY.identify(peer(ANN, host))
    assert caller == Caller("acme", "ann", AuthenticatedBy.PROXY, ("analyst", "reader"))
    assert (await KNOWS_PROXY.identify(peer({**ANN, "x-headworks-roles": ""}, host))).roles == ()


@pytest.mark.parametrize("host", ["10.2.0.1", "127.0.0.1", "", "unix", "2001:db8::8", "10.1.2.3.evil.example"])
async def test_from_anybody_else_the_same_headers_mean_nothing(host: str) -> None:
    """Else whoever writes a header would be whom it names (smg's tenant resolution)."""
    with pytest.raises(UnknownCaller):
        await KNOWS_PROXY.identify(peer(ANN, host))
    local = Peer(ANN, is_loopback=True, is_encrypted=True, host=host)
    assert (await KNOWS_PROXY.identify(local)).tenant == "local"


@pytest.mark.parametrize(
    "changed",
    [
        {"x-headworks-tenant": ""},
        {"x-headworks-subject": " "},
        {"x-headworks-tenant": "acme, globex"},
        {"x-headworks-subject": "a" * 257},
        {"x-headworks-roles": "a" * 257},
        {"x-headworks-roles": ",".join(str(number) for number in range(65))},
    ],
)
async def test_a_proxys_word_that_names_nobody_is_refused(changed: dict[str, str]) -> None:
    """A header that came twice was joined: one of the two was the caller's own."""
    with pytest.raises(UnknownCaller):
        await KNOWS_PROXY.identify(peer({**ANN, **changed}))


@pytest.mark.parametrize("missing", ["x-headworks-tenant", "x-headworks-subject"])
async def test_half_a_name_is_nobodys(missing: str) -> None:
    """It must not become the local caller either."""
    half = {name: value for name, value in ANN.items() if name != missing}
    with pytest.raises(UnknownCaller):
        await KNOWS_PROXY.identify(Peer(half, is_loopback=True, is_encrypted=True, host="10.1.2.3"))


async def test_a_proxy_that_says_nothing_is_a_stranger() -> None:
    """Calling from a trusted address is no credential."""
    with pytest.raises(UnknownCaller):
        await KNOWS_PROXY.identify(peer({}))


@pytest.mark.parametrize("fields", [{"hosts": ()}, {"hosts": ("ten",)}, {"hosts": ("10.1.2.3/16",)}])
def test_a_proxy_without_an_address_is_no_setting(fields: dict[str, tuple[str, ...]]) -> None:
    """One that could be anywhere would be everybody."""
    with pytest.raises(ValueError, match=r"hosts that it calls from|does not appear|host bits set"):
        TrustedProxy(**fields)
