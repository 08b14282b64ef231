"""Identifies callers by their certificates, which the transport has verified (mTLS).

Source: RFC 5280, section 4.2.1.6; SPIFFE, "X.509 SPIFFE Verifiable Identity Document", section 2.
"""

from functools import lru_cache

from cryptography import x509

from headworks.policy.errors import UnknownCaller
from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.identity.settings import KnownCertificate

_REFUSED = "the certificate is not known here"


class CertificateCallers:
    """The certificates that are known, by the names in them. A common name counts for nothing (RFC 6125)."""

    def __init__(self, known: tuple[KnownCertificate, ...]) -> None:
        self._known = known

    def caller(self, certificate: bytes) -> Caller:
        """Return whose certificate it is.

        Args:
            certificate: DER; the transport has verified that a trusted authority signed it, and that its time is now.
        Raises:
            UnknownCaller: no name in it is known.
        """
        names = names_in(certificate)
        for known in self._known:
            for name in names:
                if _is_named(name, known.name):
                    return Caller(
                        tenant=known.tenant,
                        subject=known.subject or name,
                        authenticated_by=AuthenticatedBy.CERTIFICATE,
                        roles=known.roles,
                        attributes=known.attributes,
                    )
        raise UnknownCaller(_REFUSED)


@lru_cache(maxsize=1024)
def names_in(certificate: bytes) -> tuple[str, ...]:
    """Return the URIs and DNS names of a certificate.

    Raises:
        UnknownCaller: it cannot be read, or has a SPIFFE id beside another URI, so that nobody knows which counts.
    """
    try:
        read = x509.load_der_x509_certificate(certificate)
        names = read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        uris = tuple(names.get_values_for_type(x509.UniformResourceIdentifier))
        hosts = tuple(names.get_values_for_type(x509.DNSName))
    except (ValueError, x509.ExtensionNotFound, x509.DuplicateExtension):
        raise UnknownCaller(_REFUSED) from None
    if len(uris) > 1 and any(uri.startswith("spiffe://") for uri in uris):
        raise UnknownCaller(_REFUSED)
    return (*uris, *hosts)


def _is_named(name: str, known: str) -> bool:
    if known.endswith("/*"):
        return name.startswith(known[:-1]) and len(name) > len(known) - 1
    return name == known
