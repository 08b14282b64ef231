"""TLS on the gRPC port: who trusts the certificate is served, everyone else is turned away and harms nobody."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from cryptography import x509

from headworks.policy.identity.settings import CredentialSettings, KnownCertificate
from headworks.policy.question import Question
from headworks.policy.verdict import Verdict
from headworks.server.client.client import CallFailed, HeadworksClient
from headworks.server.rpc.interceptor import current_call
from headworks.server.rpc.settings import RpcSettings
from headworks.server.settings import SettingsError, load
from headworks.server.turn.steps import Setup
from headworks.server.visit.visit import Visit
from headworks.v1.turn_pb2_grpc import TurnServiceStub
from tests.fakes.judges import AllowingJudge
from tests.server.certificates import Certificate, make_certificate, make_client_certificate
from tests.server.cli.conftest import command
from tests.server.client.test_client import nothing
from tests.server.edge import Edge, edge, failure_of, turn
from tests.server.rpc.watching import next_event, settled, watched


class VisitedJudge(AllowingJudge):
    """Keeps how each question's call came in."""

    def __init__(self) -> None:
        super().__init__()
        self.visits: list[Visit] = []

    async def judge(self, question: Question) -> Verdict:
        self.visits.append(current_call.get().visit)
        return await super().judge(question)


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    return make_certificate(tmp_path)


def secured(certificate: Certificate) -> RpcSettings:
    return RpcSettings(port=0, certificate_file=certificate.file, certificate_key_file=certificate.key_file)


@asynccontextmanager
async def client_with(root: bytes | None, server: Edge) -> AsyncIterator[grpc.aio.Channel]:
    credentials = grpc.ssl_channel_credentials(root)
    async with grpc.aio.secure_channel(f"127.0.0.1:{server.server.port}", credentials) as channel:
        yield channel


async def test_a_client_with_the_root_completes_a_turn(certificate: Certificate) -> None:
    """Policy is told that the bytes were encrypted."""
    judge = VisitedJudge()
    async with watched(None, judge, rpc=secured(certificate)) as server:
        async with HeadworksClient(f"127.0.0.1:{server.server.port}", ca_file=certificate.file) as client:
            events = [type(event).__name__ async for event in client.converse(Setup(), nothing())]
            assert await client.health() == "SERVING"
        assert events[-1] == "Finished"
        assert all(visit.is_encrypted for visit in judge.visits)
        await settled(server)
    assert judge.visits


async def test_in_clear_is_not_called_encrypted() -> None:
    """The counter-proof: the same judge on a port without TLS."""
    judge = VisitedJudge()
    async with watched(None, judge) as server:
        await next_event(server.stub.Converse(iter(turn("Hello."))), "finished")
    assert [visit.is_encrypted for visit in judge.visits] == [False, False]


async def test_clients_that_do_not_trust_or_do_not_encrypt_are_turned_away(
    certificate: Certificate, tmp_path: Path
) -> None:
    """No message of theirs is read, and a client with the root is served after them."""
    stranger = make_certificate(tmp_path, "stranger")
    async with watched(rpc=secured(certificate)) as server:
        for root in (stranger.file, None):
            async with HeadworksClient(f"127.0.0.1:{server.server.port}", ca_file=root) as client:
                with pytest.raises(CallFailed) as caught:
                    [_ async for _ in client.converse(Setup(), nothing(), timeout_seconds=10)]
            assert (caught.value.code, caught.value.reason, caught.value.turn_id) == ("UNAVAILABLE", "", "")
        assert server.recorder.started == []
        async with client_with(certificate.root, server) as channel:
            server.stub = TurnServiceStub(channel)
            await server.still_works()


async def test_a_client_that_encrypts_to_a_port_in_clear_is_turned_away(certificate: Certificate) -> None:
    """A typing error in a port must not look like a broken server, and the server goes on."""
    async with watched() as server:
        async with client_with(certificate.root, server) as channel:
            failure = await failure_of(TurnServiceStub(channel).Converse(iter(turn("Hello.")), timeout=10))
        assert failure.code is grpc.StatusCode.UNAVAILABLE
        await server.still_works()


async def test_the_command_line_speaks_tls_when_told_to(certificate: Certificate) -> None:
    """And without --ca-file it says what may be missing, in one sentence."""
    async with edge(rpc=secured(certificate)) as server:
        target = f"127.0.0.1:{server.server.port}"
        trusted = await command("ask", "hi", "--target", target, "--ca-file", str(certificate.file))
        assert (trusted.code, trusted.error) == (0, "")
        in_clear = await command("ask", "hi", "--target", target)
        assert in_clear.code == 1
        assert len(in_clear.error.splitlines()) == 1
        assert "--ca-file" in in_clear.error


@pytest.mark.parametrize("wrong", ["garbage", "another's key", "key for certificate", "missing", "passphrase"])
async def test_a_certificate_that_cannot_be_used_stops_the_start(
    certificate: Certificate, tmp_path: Path, wrong: str
) -> None:
    """It names the file; gRPC itself says that the port cannot be bound, and asks nobody for a passphrase."""
    chain, key = certificate.file, certificate.key_file
    if wrong == "garbage":
        chain.write_text("-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n")
    elif wrong == "another's key":
        key = make_certificate(tmp_path, "other").key_file
    elif wrong == "key for certificate":
        chain = key
    elif wrong == "missing":
        chain = tmp_path / "nowhere.crt"
    else:
        key = make_certificate(tmp_path, "locked", passphrase=b"sesame").key_file
    with pytest.raises(OSError, match=chain.name):
        async with edge(rpc=RpcSettings(port=0, certificate_file=chain, certificate_key_file=key)):
            raise AssertionError("it started")


@pytest.mark.parametrize("key", ["certificate_file", "certificate_key_file"])
def test_half_a_pair_is_no_setting(key: str) -> None:
    """It used to serve without TLS, on loopback too, whoever meant to have TLS."""
    with pytest.raises(SettingsError, match="go together"):
        load(overrides={f"rpc.{key}": "/etc/headworks/tls"}, environment={})


def test_off_loopback_tls_alone_and_keys_alone_are_too_little(certificate: Certificate) -> None:
    """Both are needed, and then it may start."""
    tls = {"rpc.certificate_file": certificate.file, "rpc.certificate_key_file": certificate.key_file}
    keys = {"policy.credentials": {"keys": [{"digest": "a" * 64, "tenant": "t", "subject": "s"}]}}
    host = {"rpc.host": "0.0.0.0"}  # noqa: S104
    with pytest.raises(SettingsError, match=r"policy\.credentials\.keys"):
        load(overrides={**host, **tls}, environment={})
    with pytest.raises(SettingsError, match=r"rpc\.certificate_file"):
        load(overrides={**host, **keys}, environment={})
    assert load(overrides={**host, **tls, **keys}, environment={}).rpc.certificate_file == certificate.file


@asynccontextmanager
async def client_showing(own: Certificate, root: bytes, server: Edge) -> AsyncIterator[grpc.aio.Channel]:
    credentials = grpc.ssl_channel_credentials(root, own.key_file.read_bytes(), own.file.read_bytes())
    async with grpc.aio.secure_channel(f"127.0.0.1:{server.server.port}", credentials) as channel:
        yield channel


async def test_a_client_is_known_by_its_certificate(certificate: Certificate, tmp_path: Path) -> None:
    """One of another authority, or none, is turned away before any call; one of an unknown name is nobody's."""
    name_of_app = x509.UniformResourceIdentifier("spiffe://example.org/app")
    app, authority = make_client_certificate(tmp_path, "app", name_of_app)
    stranger, _ = make_client_certificate(tmp_path, "stranger", name_of_app)
    rpc = replace(secured(certificate), client_ca_file=authority)
    for name, code in (("spiffe://example.org/app", None), ("spiffe://example.org/b", grpc.StatusCode.UNAUTHENTICATED)):
        known = CredentialSettings(certificates=(KnownCertificate(name, "acme", "app"),))
        async with watched(rpc=rpc, credentials=known) as server:
            async with client_showing(app, certificate.root, server) as channel:
                if code is None:
                    await next_event(TurnServiceStub(channel).Converse(iter(turn("Hello."))), "finished")
                    await settled(server)
                    assert server.meter.totals("acme").turns == 1
                else:
                    assert (await failure_of(TurnServiceStub(channel).Converse(iter(turn("Hello."))))).code is code
            async with client_showing(stranger, certificate.root, server) as channel:
                failure = await failure_of(TurnServiceStub(channel).Converse(iter(turn("Hello.")), timeout=10))
                assert failure.code is grpc.StatusCode.UNAVAILABLE
            async with client_with(certificate.root, server) as channel:
                failure = await failure_of(TurnServiceStub(channel).Converse(iter(turn("Hello.")), timeout=10))
                assert failure.code is grpc.StatusCode.UNAVAILABLE


async def test_authorities_that_cannot_be_read_stop_the_start(certificate: Certificate, tmp_path: Path) -> None:
    """And name their file; serving without asking for certificates would let everybody in."""
    (tmp_path / "empty.crt").write_text("")
    for file in (tmp_path / "empty.crt", tmp_path / "missing.crt"):
        with pytest.raises(OSError, match=file.name):
            async with edge(rpc=replace(secured(certificate), client_ca_file=file)):
                pass
    with pytest.raises(ValueError, match="client_ca_file needs certificate_file"):
        RpcSettings(client_ca_file=certificate.file)
