"""Identifies callers by tokens (JWT) that trusted issuers signed.

Source: RFC 7519; RFC 8725, JSON Web Token Best Current Practices.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

import jwt

from headworks.policy.errors import UnknownCaller
from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.identity.discovery import fetch_keys
from headworks.policy.identity.issuer_keys import Fetch, IssuerKeys
from headworks.policy.identity.names import name_from, roles_from
from headworks.policy.identity.settings import Issuer
from headworks.policy.identity.used_tokens import UsedTokens

MAX_TOKEN_CHARACTERS = 12_288
"""A longer one is refused unread; it is three quarters of what a call's metadata may take."""

_REFUSED = "the token is not valid"


def is_token(credential: str) -> bool:
    """Tell a token by its form: three parts with dots between, the first a JSON object in base64url."""
    return credential.startswith("eyJ") and credential.count(".") == 2


class TokenCallers:
    """Knows callers by their tokens. What a token says is believed once its signature is seen to be its issuer's."""

    def __init__(
        self,
        issuers: tuple[Issuer, ...],
        fetch: Fetch = fetch_keys,
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Trust some issuers.

        Args:
            fetch: Gets an issuer's keys.
            monotonic: Seconds, for the age of keys.
            now: Seconds since 1970, for the times in tokens.
        """
        self._issuers = {issuer.issuer: issuer for issuer in issuers}
        self._keys = {issuer.issuer: IssuerKeys(issuer, fetch, monotonic) for issuer in issuers}
        self._used = UsedTokens(now)
        self._now = now

    async def caller(self, token: str) -> Caller:
        """Return whose token it is.

        Raises:
            UnknownCaller: it is not valid, for whatever reason; which one is not told, since it would help to forge.
            IssuerUnavailable: its issuer's keys are not known and cannot be had now.
        """
        try:
            header, claimed = _unverified(token)
            issuer = self._issuers[claimed["iss"]]
            algorithm, key_id = header["alg"], header.get("kid")
            if "crit" in header or algorithm not in issuer.algorithms or not isinstance(key_id, str | None):
                raise UnknownCaller(_REFUSED)
            key = await self._keys[issuer.issuer].find(key_id, algorithm)
            if key is None:
                raise UnknownCaller(_REFUSED)
            claims = _verified(token, key, issuer, algorithm)
            self._check_use(issuer, claims)
            return _caller(issuer, claims)
        except (jwt.PyJWTError, KeyError, TypeError, ValueError, ArithmeticError, RecursionError):
            raise UnknownCaller(_REFUSED) from None

    def _check_use(self, issuer: Issuer, claims: Mapping[str, Any]) -> None:
        """Hold a token to its age, and one that may be used once to that."""
        if issuer.max_age_seconds is not None:
            age = self._now() - claims["iat"]
            if age > issuer.max_age_seconds + issuer.leeway_seconds:
                raise UnknownCaller(_REFUSED)
        if issuer.is_single_use:
            self._used.use(issuer.issuer, claims["jti"], claims["exp"] + issuer.leeway_seconds)


def _unverified(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a token says, which decides only whose keys it is checked with."""
    if len(token) > MAX_TOKEN_CHARACTERS:
        raise UnknownCaller(_REFUSED)
    read = jwt.decode_complete(token, options={"verify_signature": False})
    return read["header"], read["payload"]


def _verified(token: str, key: jwt.PyJWK, issuer: Issuer, algorithm: str) -> dict[str, Any]:
    return jwt.decode(
        token,
        key,
        algorithms=[algorithm],
        audience=issuer.audiences,
        issuer=issuer.issuer,
        leeway=issuer.leeway_seconds,
        options={"require": _required(issuer), "enforce_minimum_key_length": True},
    )


def _required(issuer: Issuer) -> list[str]:
    more = [*(["iat"] if issuer.max_age_seconds is not None else []), *(["jti"] if issuer.is_single_use else [])]
    return ["exp", "iss", "aud", *more]


def _caller(issuer: Issuer, claims: Mapping[str, Any]) -> Caller:
    roles = _roles(_claim(claims, issuer.roles_claim))
    attributes = {name: _claim(claims, claim) for name, claim in issuer.attribute_claims.items()}
    return Caller(
        tenant=name_from(issuer.tenant or _claim(claims, issuer.tenant_claim)),
        subject=name_from(_claim(claims, issuer.subject_claim)),
        authenticated_by=AuthenticatedBy.JWT,
        roles=tuple(dict.fromkeys((*issuer.roles, *roles))),
        attributes={name: name_from(value) for name, value in attributes.items() if value is not None},
    )


def _claim(claims: Mapping[str, Any], path: str) -> Any:
    """Return a claim; a name with dots that is no claim itself is looked up step by step; None when there is none."""
    if path in claims:
        return claims[path]
    value: Any = claims
    for step in path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _roles(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    names = value.split() if isinstance(value, str) else value
    if not isinstance(names, list):
        raise UnknownCaller(_REFUSED)
    return roles_from(names)
