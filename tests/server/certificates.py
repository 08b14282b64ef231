"""Self-signed certificates for this machine's loopback address."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class Certificate:
    """PEM files; a client that trusts the first one trusts the server that holds both."""

    file: Path
    key_file: Path

    @property
    def root(self) -> bytes:
        return self.file.read_bytes()


def make_certificate(folder: Path, name: str = "server", passphrase: bytes = b"") -> Certificate:
    """Write a new one for 127.0.0.1 and localhost, valid for an hour; with a passphrase its key is encrypted."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    return _written(folder, name, certificate, key, passphrase)


def make_client_certificate(folder: Path, name: str, *names: x509.GeneralName) -> tuple[Certificate, Path]:
    """Write a certificate with these names, signed by a new authority; return it and the authority's file."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{name} authority")])
    base = x509.CertificateBuilder(
        issuer_name=issuer,
        serial_number=x509.random_serial_number(),
        not_valid_before=now - timedelta(hours=1),
        not_valid_after=now + timedelta(hours=1),
    )
    authority = (
        base.subject_name(issuer)
        .public_key(authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    signed = base.subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ann")])).public_key(key.public_key())
    if names:
        signed = signed.add_extension(x509.SubjectAlternativeName(names), critical=False)
    authority_file = folder / f"{name}-ca.crt"
    authority_file.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    return _written(folder, name, signed.sign(authority_key, hashes.SHA256()), key), authority_file


def _written(
    folder: Path, name: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey, passphrase: bytes = b""
) -> Certificate:
    made = Certificate(folder / f"{name}.crt", folder / f"{name}.key")
    made.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    locked = serialization.BestAvailableEncryption(passphrase) if passphrase else serialization.NoEncryption()
    made.key_file.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked))
    return made
