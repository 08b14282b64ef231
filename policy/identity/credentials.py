"""Identifies callers by all that says who they are: keys, tokens, certificates, proxies. Local ones may do without."""

from headworks.policy.errors import UnknownCaller
from headworks.policy.identity.api_keys import ApiKeys
from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.identity.certificates import CertificateCallers
from headworks.policy.identity.peer import Peer
from headworks.policy.identity.proxies import ProxyCallers
from headworks.policy.identity.settings import CredentialSettings
from headworks.policy.identity.tokens import MAX_TOKEN_CHARACTERS, TokenCallers, is_token

MAX_KEY_CHARACTERS = 512
"""A longer API key is refused unread; keys made of 32 random bytes take 43."""

_REFUSED = "the credentials are not valid"


class CredentialIdentifier:
    """Knows callers by `authorization: Bearer <API key or token>`, `x-api-key: <API key>`, certificates and proxies."""

    def __init__(self, settings: CredentialSettings, tokens: TokenCallers | None = None) -> None:
        """Know the settings' keys and issuers.

        Args:
            tokens: Knows callers by tokens; made from the settings' issuers when None.
        """
        self._settings = settings
        self._keys = ApiKeys(settings.keys)
        self._tokens = tokens or TokenCallers(settings.issuers)
        self._certificates = CertificateCallers(settings.certificates)
        self._proxies = ProxyCallers(settings.proxies)

    async def identify(self, peer: Peer) -> Caller:
        """See `Identifier`. Two credentials in one request must be the same caller's.

        What comes in the request counts first. Without it a trusted proxy's word does, and then the certificate: it may
        be the proxy's own.
        """
        metadata, callers = peer.metadata, []
        if "authorization" in metadata:
            callers.append(await self._by_bearer(_bearer(metadata["authorization"])))
        if "x-api-key" in metadata:
            callers.append(self._keys.caller(_key(metadata["x-api-key"])))
        if not callers:
            return self._without_credentials(peer)
        if any(caller != callers[0] for caller in callers):
            raise UnknownCaller(_REFUSED)
        return callers[0]

    async def _by_bearer(self, credential: str) -> Caller:
        if self._settings.issuers and is_token(credential):
            return await self._tokens.caller(credential)
        return self._keys.caller(_key(credential))

    def _without_credentials(self, peer: Peer) -> Caller:
        if (caller := self._proxies.caller(peer)) is not None:
            return caller
        if peer.certificate is not None and self._settings.certificates:
            return self._certificates.caller(peer.certificate)
        return self._anonymous(peer)

    def _anonymous(self, peer: Peer) -> Caller:
        if not (peer.is_loopback and self._settings.allow_loopback):
            raise UnknownCaller("send an API key or a token as authorization (Bearer), or an API key as x-api-key")
        return Caller(
            tenant=self._settings.loopback_tenant,
            subject=self._settings.loopback_subject,
            authenticated_by=AuthenticatedBy.LOOPBACK,
            roles=self._settings.loopback_roles,
        )


def _bearer(value: object) -> str:
    if not isinstance(value, str) or len(value) > MAX_TOKEN_CHARACTERS + len("Bearer "):
        raise UnknownCaller(_REFUSED)
    scheme, _, credential = value.strip(" ").partition(" ")
    if scheme.lower() != "bearer":
        raise UnknownCaller("authorization must be: Bearer <API key or token>")
    return credential.strip(" ")


def _key(value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_KEY_CHARACTERS:
        raise UnknownCaller(_REFUSED)
    return value.strip(" ")
