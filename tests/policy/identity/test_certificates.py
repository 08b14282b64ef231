"""Whose certificate it is, by the names in it."""

import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509

from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.identity.credentials import CredentialIdentifier
from headworks.policy.identity.peer import Peer
from headworks.policy.identity.settings import CredentialSettings, KnownCertificate
from tests.contracts.identifier import check_identifier
from tests.server.certificates import make_client_certificate

SPIFFE = "spiffe://example.org/ns/prod/sa/app"
KNOWN = (
    KnownCertificate(SPIFFE, "acme", "app", ("analyst",), {"region": "eu"}),
    KnownCertificate("spiffe://example.org/ns/dev/*", "acme-dev"),
    KnownCertificate("app.example.org", "globex"),
)
Der = Callable[..., bytes]


def uri(value: str) -> x509.GeneralName:
    return x509.UniformResourceIdentifier(value)


def dns(value: str) -> x509.GeneralName:
    return x509.DNSName(value)


@pytest.fixture
def der(tmp_path: Path) -> Der:
    def make(*names: x509.GeneralName) -> bytes:
        made, _ = make_client_certificate(tmp_path, "client", *names)
        return ssl.PEM_cert_to_DER_cert(made.file.read_text())

    return make


def shown(certificate: bytes | None) -> Peer:
    return Peer({}, is_loopback=False, is_encrypted=True, certificate=certificate)


async def test_certificates_keep_the_contract_of_identifiers(der: Der) -> None:
    """A name that is not known is nobody's; the common name counts for nothing (RFC 6125)."""
    by = AuthenticatedBy.CERTIFICATE
    good = {
        "a SPIFFE id": (der(uri(SPIFFE)), Caller("acme", "app", by, ("analyst",), {"region": "eu"})),
        "one below a path": (
            der(uri("spiffe://example.org/ns/dev/sa/x")),
            Caller("acme-dev", "spiffe://example.org/ns/dev/sa/x", by),
        ),
        "a DNS name": (der(dns("app.example.org")), Caller("globex", "app.example.org", by)),
    }
    wrong = {
        "no name": der(),
        "another name": der(dns("other.example.org")),
        "a name that begins alike": der(uri(SPIFFE + "lication")),
        "the path alone": der(uri("spiffe://example.org/ns/dev/")),
        "a path that begins alike": der(uri("spiffe://example.org/ns/development/sa/x")),
        "a known name as another kind": der(dns(SPIFFE.removeprefix("spiffe://"))),
        "two SPIFFE ids": der(uri(SPIFFE), uri("spiffe://example.org/ns/prod/sa/root")),
        "no certificate": b"garbage",
    }
    await check_identifier(
        lambda: CredentialIdentifier(CredentialSettings(certificates=KNOWN)),
        {word: (shown(certificate), caller) for word, (certificate, caller) in good.items()},
        {word: shown(certificate) for word, certificate in wrong.items()},
    )


async def test_where_no_certificate_is_known_one_changes_nothing(der: Der) -> None:
    """A local caller whose client has a certificate for other uses is still the local caller."""
    local = Peer({}, is_loopback=True, is_encrypted=True, certificate=der(dns("x")))
    assert (await CredentialIdentifier(CredentialSettings()).identify(local)).tenant == "local"


@pytest.mark.parametrize(("name", "tenant"), [("", "a"), ("x", ""), ("spiffe://*/a", "a"), ("*", "a"), ("a*", "a")])
def test_a_pattern_that_names_too_much_is_no_setting(name: str, tenant: str) -> None:
    """Only what is below a whole path can be named at once."""
    with pytest.raises(ValueError, match="needs a tenant, and a name"):
        KnownCertificate(name, tenant)
