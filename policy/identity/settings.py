"""The settings of identity: keys, issuers, certificates, proxies, and whether loopback needs any of them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import ip_address, ip_network
from pathlib import Path
from urllib.parse import urlsplit

_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key and whose it is."""

    digest: str = field(repr=False)
    """From `digest_of`."""
    tenant: str
    subject: str
    roles: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _DIGEST.fullmatch(self.digest):
            raise ValueError(f"the digest of {self.tenant}/{self.subject} is not 64 lower-case hex digits")
        if not self.tenant or not self.subject:
            raise ValueError("an API key needs a tenant and a subject")


@dataclass(frozen=True, slots=True)
class KnownCertificate:
    """Whose certificates of a name are, once the transport has seen that a trusted authority signed them."""

    name: str
    """A name in the certificate (subjectAltName): a URI such as a SPIFFE id (spiffe://example.org/ns/prod/sa/app), or a
    DNS name. A URI that ends with "/*" names all below it."""
    tenant: str
    subject: str = ""
    """The certificate's name when empty."""
    roles: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.tenant or not self.name or "*" in self.name.removesuffix("/*"):
            raise ValueError(f"the certificate {self.name!a} needs a tenant, and a name with * at most at its end")


@dataclass(frozen=True, slots=True)
class TrustedProxy:
    """A proxy that has found out who calls, and says so in headers. From anybody else these headers mean nothing."""

    hosts: tuple[str, ...]
    """Addresses or networks that it calls from ("10.1.0.0/16"). Whoever calls from there can be anybody it likes."""
    tenant_header: str = "x-headworks-tenant"
    subject_header: str = "x-headworks-subject"
    roles_header: str = "x-headworks-roles"
    """Names with commas between; a request without it has no roles."""

    def __post_init__(self) -> None:
        if not self.hosts:
            raise ValueError("a trusted proxy needs the hosts that it calls from")
        for host in self.hosts:
            ip_network(host)
        for header in (self.tenant_header, self.subject_header, self.roles_header):
            if header != header.lower():
                raise ValueError(f"{header} must be in lower case, as headers arrive")


class Algorithm(StrEnum):
    """Signatures that a token may have (RFC 7518, RFC 8037). None of them has a shared secret."""

    RS256 = "RS256"
    RS384 = "RS384"
    RS512 = "RS512"
    PS256 = "PS256"
    PS384 = "PS384"
    PS512 = "PS512"
    ES256 = "ES256"
    ES384 = "ES384"
    ES512 = "ES512"
    EDDSA = "EdDSA"


@dataclass(frozen=True, slots=True)
class Issuer:
    """One issuer whose tokens (JWT) are taken as credentials, and what their claims mean here.

    A claim inside another one is named with dots: `realm_access.roles`.
    """

    issuer: str
    """Its name, as `iss` has it to the letter. Its keys are found below it by OpenID Connect Discovery."""
    audiences: tuple[str, ...]
    """A token must be meant for one of these (`aud`)."""
    algorithms: tuple[Algorithm, ...] = (Algorithm.RS256, Algorithm.ES256, Algorithm.EDDSA)
    keys_url: str = ""
    """Where its keys are (a JWKS); found by discovery when empty."""
    ca_file: Path | None = None
    """Authorities that the issuer's certificate is checked against, as PEM; those of the system when None."""
    tenant: str = ""
    """The tenant of all its callers; when empty, `tenant_claim` names it."""
    tenant_claim: str = "tenant"
    subject_claim: str = "sub"
    roles: tuple[str, ...] = ()
    """Roles that each of its callers has."""
    roles_claim: str = "roles"
    """More roles: a list, or one text with spaces between. A token without it has none more."""
    attribute_claims: Mapping[str, str] = field(default_factory=dict)
    """Attributes by the claim that each is taken from; a claim that a token does not have gives none."""
    leeway_seconds: float = 30.0
    """How far the issuer's clock may be from ours."""
    max_age_seconds: float | None = None
    """Tokens issued longer ago (`iat`) are refused, however long they say that they are valid."""
    is_single_use: bool = False
    """Take each token (`jti`) once only. Such tokens must expire within an hour."""
    refresh_seconds: float = 300.0
    """Keys older than this are fetched anew while the old ones still serve."""
    max_stale_seconds: float = 3600.0
    """Keys older than this are used no more, so that a key that the issuer has withdrawn is not trusted for ever."""
    retry_seconds: float = 10.0
    """Between two fetches because of a key that is not known, so that made-up keys do not make us flood the issuer."""
    timeout_seconds: float = 3.0
    """One fetch, discovery included. A caller may wait for it."""

    def __post_init__(self) -> None:
        if not self.audiences or not all(self.audiences):
            raise ValueError(f"{self.issuer} needs at least one audience")
        if not self.algorithms:
            raise ValueError(f"{self.issuer} needs at least one algorithm")
        for url in (self.issuer, *filter(None, (self.keys_url,))):
            require_secure(url)
        for name in ("leeway_seconds", "refresh_seconds", "max_stale_seconds", "retry_seconds", "timeout_seconds"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be at least 0")


def require_secure(url: str) -> None:
    """Hold the address of an issuer or of its keys to TLS, except on this machine.

    Raises:
        ValueError: it is not such a URL.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "https" and host:
        return
    if parts.scheme != "http" or not _is_loopback(host):
        raise ValueError(f"{url!a} must begin with https://, because keys from it decide who is let in")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True, slots=True)
class CredentialSettings:
    """The credentials that callers have, and who a caller on this machine is without any."""

    keys: tuple[ApiKey, ...] = ()
    """None by default: nobody off this machine gets in."""
    issuers: tuple[Issuer, ...] = ()
    """Whose tokens are taken."""
    certificates: tuple[KnownCertificate, ...] = ()
    """Whose certificates are known, where `rpc.client_ca_file` asks clients for one. The first that fits counts."""
    proxies: tuple[TrustedProxy, ...] = ()
    """Who may say in headers who calls."""
    allow_loopback: bool = True
    """Whoever has a shell here may call without a key; the embedded default needs no set-up."""
    loopback_tenant: str = "local"
    loopback_subject: str = "loopback"
    loopback_roles: tuple[str, ...] = ("operator",)

    def __post_init__(self) -> None:
        names = [issuer.issuer for issuer in self.issuers]
        if len(set(names)) < len(names):
            raise ValueError("an issuer is named twice")
