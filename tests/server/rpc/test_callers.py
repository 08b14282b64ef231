"""Whom a gRPC call is taken to come from: keys, tokens, loopback, and proxies that stand between."""

import asyncio

import grpc
import pytest

from headworks.policy.identity.api_keys import digest_of
from headworks.policy.identity.settings import ApiKey, CredentialSettings
from headworks.server.rpc.call import host_of
from tests.policy.identity.issuing import DISCOVERY, IssuingFake, issuer, serving
from tests.server.edge import Edge, failure_from, failure_of, turn
from tests.server.rpc.watching import as_normalize, next_event, settled, watched

ADA_KEY, BOB_KEY = "ada-" + "0" * 32, "bob-" + "0" * 32
KEYS = CredentialSettings(keys=(ApiKey(digest_of(ADA_KEY), "acme", "ada"), ApiKey(digest_of(BOB_KEY), "globex", "bob")))
FORWARDED = [
    ("x-forwarded-for", "203.0.113.7"),
    ("forwarded", "for=203.0.113.7"),
    ("via", "2 proxy"),
    ("x-real-ip", "127.0.0.1"),
    ("x-forwarded-for", ""),
]


@pytest.mark.parametrize("header", FORWARDED, ids=lambda header: header[0])
async def test_a_proxy_lends_its_loopback_address_to_nobody(header: tuple[str, str]) -> None:
    """Else every stranger behind a proxy on this machine would be an operator; both calls, before any message."""
    async with watched() as server:
        failure = await failure_of(server.stub.Converse(iter(turn("Hello.")), metadata=(header,)))
        assert (failure.code, failure.reason) == (grpc.StatusCode.UNAUTHENTICATED, "UNKNOWN_CALLER")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await server.stub.Normalize(iter(as_normalize(turn("Hello."))), metadata=(header,))
        assert failure_from(caught.value) == failure
        assert server.recorder.started == []
        await server.still_works()


async def test_a_key_counts_through_a_proxy() -> None:
    """It says who sent it, whatever the address says; the turn is booked on its tenant."""
    async with watched(credentials=KEYS) as server:
        metadata = (("x-forwarded-for", "203.0.113.7"), ("authorization", f"Bearer {ADA_KEY}"))
        await next_event(server.stub.Converse(iter(turn("Hello.")), metadata=metadata), "finished")
        await settled(server)
        assert server.meter.totals("acme").turns == 1


@pytest.mark.parametrize("name", ["authorization", "x-api-key"])
async def test_two_keys_never_pass_as_one_of_them(name: str) -> None:
    """A proxy and we must not read different ones."""
    scheme = "Bearer " if name == "authorization" else ""
    async with watched(credentials=KEYS) as server:
        for pair in ((ADA_KEY, BOB_KEY), (BOB_KEY, ADA_KEY), ("", ADA_KEY), (ADA_KEY, ADA_KEY)):
            metadata = tuple((name, f"{scheme}{key}") for key in pair)
            failure = await failure_of(server.stub.Converse(iter(turn("Hello.")), metadata=metadata))
            assert failure.code is grpc.StatusCode.UNAUTHENTICATED
        assert server.recorder.started == []


async def test_metadata_in_bytes_is_no_credential_and_no_fault() -> None:
    """Names that end in -bin carry anything."""
    async with watched(credentials=KEYS) as server:
        metadata = (("authorization-bin", b"Bearer \xff"), ("x-api-key-bin", b""))
        await next_event(server.stub.Converse(iter(turn("Hello.")), metadata=metadata), "finished")
        await settled(server)
        assert server.meter.totals("local").turns == 1


@pytest.mark.parametrize(
    ("peer", "host"),
    [
        ("ipv4:127.0.0.1:5000", "127.0.0.1"),
        ("ipv4:10.0.0.1:5000", "10.0.0.1"),
        ("ipv6:%5B::1%5D:5000", "::1"),
        ("ipv6:[::1]:5000", "::1"),
        ("ipv6:%5Bfe80::1%25eth0%5D:5000", "fe80::1%eth0"),
        ("unix:/run/headworks.sock", "localhost"),
        ("unix:", "localhost"),
        ("vsock:2:5000", ""),
        ("localhost:5000", ""),
        ("", ""),
        ("ipv4:", ""),
    ],
)
def test_grpcs_names_of_peers_are_read(peer: str, host: str) -> None:
    """A name that we cannot read has no host, and so is not this machine. Names: grpc's src/core/lib/address_utils."""
    assert host_of(peer) == host


async def test_an_issuer_that_rotates_its_keys_under_load_refuses_no_turn() -> None:
    """Each new key is taken with the first token that it signed (tyk#6378, envoy#14557)."""
    async with serving() as issuing:
        fake = IssuingFake(issuing.url)
        issuing.documents = {DISCOVERY: {"issuer": fake.name, "jwks_uri": f"{fake.name}/keys"}}
        known = CredentialSettings(issuers=(issuer(fake.name, retry_seconds=0.0),))
        async with watched(credentials=known) as server:
            for number in range(10):
                fake.rotate(str(number))
                issuing.documents["/keys"] = fake.document()
                await asyncio.gather(*(_converse(server, fake.token()) for _ in range(10)))
            await settled(server)
            assert server.meter.totals("acme").turns == 100
        assert issuing.asked.count("/keys") == 10


async def test_while_an_issuer_is_away_its_callers_are_told_to_come_back() -> None:
    """Whether their tokens are good is not known; that is not theirs to mend."""
    async with serving() as issuing:
        known = CredentialSettings(issuers=(issuer(issuing.url),))
        async with watched(credentials=known) as server:
            token = IssuingFake(issuing.url).token()
            call = server.stub.Converse(iter(turn("Hello.")), metadata=(("authorization", f"Bearer {token}"),))
            failure = await failure_of(call)
            assert (failure.code, failure.reason) == (grpc.StatusCode.UNAVAILABLE, "ISSUER_UNAVAILABLE")
            assert failure.retry_after_seconds is not None
            await server.still_works()


async def _converse(server: Edge, token: str) -> None:
    metadata = (("authorization", f"Bearer {token}"),)
    await next_event(server.stub.Converse(iter(turn("Hello.")), metadata=metadata), "finished")
