"""Who is known by a token, and whose token is nobody's."""

import asyncio
import base64
import json
import logging
import time
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from hypothesis import given
from hypothesis import strategies as st

from headworks.policy.errors import IssuerUnavailable, UnknownCaller
from headworks.policy.identity import used_tokens
from headworks.policy.identity.api_keys import digest_of
from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.identity.credentials import CredentialIdentifier
from headworks.policy.identity.settings import Algorithm, ApiKey, CredentialSettings, Issuer
from headworks.policy.identity.tokens import MAX_TOKEN_CHARACTERS, TokenCallers
from tests.contracts.identifier import check_identifier, peer
from tests.policy.identity.issuing import AUDIENCE, NAME, IssuingFake, issuer

ANN = Caller("acme", "ann", AuthenticatedBy.JWT)
KEY = ApiKey(digest_of("hw_key"), "acme", "ann")


def callers(issuing: IssuingFake, monotonic: Callable[[], float] = time.monotonic, **fields: Any) -> TokenCallers:
    return TokenCallers((issuer(issuing.name, **fields),), issuing.fetch, monotonic)


def identifier(issuing: IssuingFake, **fields: Any) -> CredentialIdentifier:
    settings = CredentialSettings(keys=(KEY,), issuers=(issuer(issuing.name, **fields),))
    return CredentialIdentifier(settings, callers(issuing, **fields))


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def forged(issuing: IssuingFake) -> dict[str, str]:
    """Tokens that must be nobody's, by what is wrong with them."""
    other, now = IssuingFake("https://other.example"), int(time.time())
    issuing.rotate("rsa", "RS256")
    public = issuing.keys["rsa"][1].public_key()
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    claims, good = issuing.claims(), issuing.token()
    head, body, signature = good.split(".")
    hmac_head = {"alg": "HS256", "typ": "JWT", "kid": "rsa"}
    signed = f"{encoded(hmac_head)}.{encoded(claims)}"
    by_hmac = jwt.api_jws.PyJWS().get_algorithm_by_name("HS256").sign(signed.encode(), pem)
    issuing.more.append({"kty": "oct", "kid": "secret", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldA"})
    return {
        "unsigned": f"{encoded({'alg': 'none', 'kid': 'rsa'})}.{body}.",
        "unsigned, in another case": f"{encoded({'alg': 'nOnE', 'kid': 'rsa'})}.{body}.",
        "signed with the public key as a secret": f"{signed}.{base64.urlsafe_b64encode(by_hmac).rstrip(b'=').decode()}",
        "signed with a secret from the key set": jwt.encode(
            claims, "secret-secret-secret-secret-secret", "HS256", headers={"kid": "secret"}
        ),
        "another issuer's key under this one's name": jwt.encode(
            claims, other.keys["first"][1], "ES256", headers={"kid": "rsa"}
        ),
        "another issuer": other.token(),
        "its own key in its header": jwt.encode(
            claims, other.keys["first"][1], "ES256", headers={"jwk": other.document()["keys"][0], "kid": "x"}
        ),
        "a signature of zeros": f"{encoded({'alg': 'ES256', 'kid': 'first'})}.{body}.{'A' * 86}",
        "an algorithm that is not pinned": jwt.encode(claims, issuing.keys["rsa"][1], "RS512", headers={"kid": "rsa"}),
        "an algorithm that is not the key's": issuing.token({"kid": "first"}),
        "expired": issuing.token(exp=now - 31),
        "not valid yet": issuing.token(nbf=now + 60),
        "issued in the future": issuing.token(iat=now + 60),
        "without an end": issuing.token(exp=None),
        "for somebody else": issuing.token(aud="billing"),
        "for nobody": issuing.token(aud=None),
        "an audience that is no text": issuing.token(aud=7),
        "an end that is no time": issuing.token(exp="soon"),
        "an end without end": f"{head}.{encoded({**claims, 'exp': float('inf')})}.{signature}",
        "changed": f"{head}.{encoded({**claims, 'sub': 'root'})}.{signature}",
        "cut": good[:-4],
        "cut in its body": f"{head}.{body[:-3]}.{signature}",
        "without a signature": f"{head}.{body}.",
        "a key that nobody has": issuing.token({"kid": "third"}),
        "a key whose name is no text": f"{encoded({'alg': 'RS256', 'kid': 7})}.{body}.{signature}",
        "a critical extension": issuing.token({"crit": ["b64"], "b64": True}),
        "an issuer that is no text": f"{head}.{encoded({**claims, 'iss': [NAME]})}.{signature}",
        "an issuer with a slash more": issuing.token(iss=NAME + "/"),
        "without a tenant": issuing.token(tenant=None),
        "an empty tenant": issuing.token(tenant=""),
        "a tenant that is no text": issuing.token(tenant={"name": "acme"}),
        "a tenant of 257 letters": issuing.token(tenant="a" * 257),
        "without a subject": issuing.token(sub=None),
        "roles that are no list": issuing.token(roles={"operator": True}),
        "a role that is no text": issuing.token(roles=["analyst", 7]),
        "65 roles": issuing.token(roles=[str(number) for number in range(65)]),
        "longer than any": issuing.token(filler="x" * MAX_TOKEN_CHARACTERS),
        "a list for a header": f"{encoded([])}.{body}.{signature}",
        "deep": f"{head}.{base64.urlsafe_b64encode(b'[' * 5000).decode()}.{signature}",
    }


async def test_tokens_keep_the_contract_of_identifiers() -> None:
    """A wrong one is never taken for none (RFC 8725; aigw PR#2053)."""
    issuing = IssuingFake()
    first = {"a token": issuing.token(), "a list of audiences": issuing.token(aud=["billing", AUDIENCE])}
    wrong = forged(issuing)
    issuing.rotate("edwards", "EdDSA")
    known = {**first, "of another key": issuing.token(), "a little late": issuing.token(exp=int(time.time()) - 5)}
    await check_identifier(
        lambda: identifier(issuing),
        {word: (peer({"authorization": f"Bearer {token}"}), ANN) for word, token in known.items()},
        {word: peer({"authorization": f"Bearer {token}"}) for word, token in wrong.items()},
    )


async def test_claims_become_roles_and_attributes() -> None:
    """Names with dots lead into a claim; a claim whose own name has dots comes first."""
    issuing = IssuingFake()
    known = callers(
        issuing,
        tenant="acme",
        subject_claim="https://id.example/user.name",
        roles=("caller",),
        roles_claim="realm_access.roles",
        attribute_claims={"region": "where", "team": "org.team", "desk": "org.desk"},
    )
    token = issuing.token(
        **{"https://id.example/user.name": "ann", "realm_access": {"roles": ["analyst", "caller"]}},
        where="eu",
        org={"team": "risk"},
        tenant="globex",
    )
    caller = await known.caller(token)
    assert caller.roles == ("caller", "analyst")
    assert caller.attributes == {"region": "eu", "team": "risk"}
    assert (caller.tenant, caller.subject) == ("acme", "ann")


async def test_roles_may_stand_in_one_text() -> None:
    """As OAuth's scope does (RFC 8693, section 4.2)."""
    issuing = IssuingFake()
    caller = await callers(issuing, roles_claim="scope").caller(issuing.token(scope="analyst reader"))
    assert caller.roles == ("analyst", "reader")


async def test_a_key_and_a_token_in_one_request_must_be_the_same_caller() -> None:
    """Nobody can tell whose turn it would be."""
    issuing = IssuingFake()
    for token in (issuing.token(), issuing.token(sub="bob")):
        both = {"authorization": f"Bearer {token}", "x-api-key": "hw_key"}
        with pytest.raises(UnknownCaller):
            await identifier(issuing).identify(peer(both))


async def test_a_new_key_is_taken_at_once_and_a_withdrawn_one_is_not() -> None:
    """A rotation refuses nobody falsely (tyk#6378, envoy#14557)."""
    issuing, clock = IssuingFake(), [100.0]
    known = callers(issuing, lambda: clock[0])
    old = issuing.token()
    assert await known.caller(old) == ANN
    clock[0] += 20
    issuing.rotate("second")
    issuing.forget("first")
    fresh = issuing.token()
    assert await asyncio.gather(*(known.caller(fresh) for _ in range(50))) == [ANN] * 50
    assert issuing.fetches == 2
    with pytest.raises(UnknownCaller):
        await known.caller(old)


async def test_made_up_keys_do_not_flood_the_issuer() -> None:
    """One fetch within a time, however many ask."""
    issuing, clock = IssuingFake(), [100.0]
    known = callers(issuing, lambda: clock[0])
    made_up = [issuing.token({"kid": str(number)}) for number in range(100)]
    for token in made_up:
        with pytest.raises(UnknownCaller):
            await known.caller(token)
    assert issuing.fetches == 1
    assert await known.caller(issuing.token()) == ANN
    clock[0] += 10
    with pytest.raises(UnknownCaller):
        await known.caller(made_up[0])
    assert issuing.fetches == 2


async def test_known_keys_serve_while_the_issuer_is_away_and_not_for_ever() -> None:
    """A fetch that fails says nothing about the keys; an hour of failures does."""
    issuing, clock = IssuingFake(), [100.0]
    known = callers(issuing, lambda: clock[0])
    token = issuing.token()
    assert await known.caller(token) == ANN
    issuing.error = OSError("away")
    clock[0] += 3_000
    assert await known.caller(token) == ANN
    clock[0] += 601
    with pytest.raises(IssuerUnavailable):
        await known.caller(token)
    issuing.error = None
    clock[0] += 10
    assert await known.caller(token) == ANN


async def test_without_its_issuers_keys_a_token_is_neither_good_nor_bad() -> None:
    """Its caller is told to come back, and the next fetch is not made for each of them."""
    issuing = IssuingFake()
    issuing.error = TimeoutError()
    known = callers(issuing)
    for _ in range(5):
        with pytest.raises(IssuerUnavailable):
            await known.caller(issuing.token())
    assert issuing.fetches == 1


async def test_a_key_set_that_makes_no_sense_is_none() -> None:
    """Nothing in it reaches the caller or lets somebody in."""
    for document in ({}, {"keys": 7}, {"keys": [7, {}, {"kty": "EC", "kid": "first"}]}):

        async def fetch(_: Issuer, answer: dict[str, Any] = document) -> dict[str, Any]:  # type: ignore[type-arg]
            return answer

        known = TokenCallers((issuer(),), fetch)
        with pytest.raises((UnknownCaller, IssuerUnavailable)):
            await known.caller(IssuingFake().token())


async def test_a_token_without_a_key_id_needs_the_only_key_that_fits() -> None:
    """With two that fit, trying both would let a withdrawn one pass unseen."""
    issuing = IssuingFake()
    assert await callers(issuing).caller(issuing.token({"kid": None})) == ANN
    issuing.rotate("second")
    with pytest.raises(UnknownCaller):
        await callers(issuing).caller(issuing.token({"kid": None}))


async def test_an_old_token_is_refused_where_age_counts() -> None:
    """However long it says that it is valid."""
    issuing, now = IssuingFake(), int(time.time())
    known = callers(issuing, max_age_seconds=300)
    assert await known.caller(issuing.token(iat=now - 200, exp=now + 9_000)) == ANN
    for iat in (now - 400, None):
        with pytest.raises(UnknownCaller):
            await known.caller(issuing.token(iat=iat, exp=now + 9_000))


async def test_a_token_for_one_use_is_refused_when_it_is_replayed() -> None:
    """Also by fifty at once; one without a name, or that lasts for days, is not taken at all."""
    issuing, now = IssuingFake(), int(time.time())
    known = callers(issuing, is_single_use=True)
    token = issuing.token(jti="a")
    tried = await asyncio.gather(*(known.caller(token) for _ in range(50)), return_exceptions=True)
    assert sum(one == ANN for one in tried) == 1
    assert await known.caller(issuing.token(jti="b")) == ANN
    for odd in (issuing.token(), issuing.token(jti="c", exp=now + 86_400), issuing.token(jti=7)):
        with pytest.raises(UnknownCaller):
            await known.caller(odd)


async def test_the_memory_of_used_tokens_is_bounded_and_forgets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """When it is full, a new token is refused rather than an old one taken twice."""
    monkeypatch.setattr(used_tokens, "MAX_USED", 2)
    now = [1000.0]
    used = used_tokens.UsedTokens(lambda: now[0])
    used.use("i", "a", 1010.0)
    used.use("i", "b", 1100.0)
    with pytest.raises(UnknownCaller):
        used.use("i", "c", 1100.0)
    now[0] = 1050.0
    used.use("i", "c", 1100.0)
    with pytest.raises(UnknownCaller):
        used.use("i", "a", 1100.0)
    with pytest.raises(UnknownCaller):
        used.use("i", "b", 1100.0)


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_garbage_in_the_form_of_a_token_is_an_unknown_caller(head: str, body: str, signature: str) -> None:
    """Nothing but UnknownCaller leaves (aigw PR#1864)."""
    known = identifier(IssuingFake())
    for token in (f"eyJ{head}.{body}.{signature}", f"{encoded({'alg': 'ES256'})}.{encoded(body)}.{signature}"):
        with pytest.raises(UnknownCaller):
            asyncio.run(known.identify(peer({"authorization": f"Bearer {token}"}, is_loopback=True)))


async def test_no_token_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    """Neither by message nor in logs, whatever is wrong with it (aigw PR#2508)."""
    caplog.set_level(logging.DEBUG)
    issuing = IssuingFake()
    known = identifier(issuing)
    for token in forged(issuing).values():
        with pytest.raises(UnknownCaller) as refused:
            await known.identify(peer({"authorization": f"Bearer {token}"}))
        shown = f"{refused.value!r} {refused.value.__cause__!r} {caplog.text}"
        assert not any(part in shown for part in token.split(".") if len(part) > 20)


@pytest.mark.parametrize(
    "fields",
    [
        {"issuer": "http://login.example"},
        {"issuer": "login.example"},
        {"issuer": NAME, "keys_url": "http://login.example/keys"},
        {"issuer": NAME, "audiences": ()},
        {"issuer": NAME, "algorithms": ()},
    ],
)
def test_an_issuer_that_could_not_be_trusted_is_no_setting(fields: dict[str, Any]) -> None:
    """Keys over a clear network are anybody's."""
    with pytest.raises(ValueError, match=r"must begin with https|at least one"):
        Issuer(**{"audiences": (AUDIENCE,), **fields})


def test_no_algorithm_has_a_shared_secret() -> None:
    """With one, the public key would be the secret."""
    assert not any(name.startswith("HS") for name in Algorithm)
