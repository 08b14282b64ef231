"""Who is known by a key, and who without one."""

import asyncio
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.policy.errors import UnknownCaller
from headworks.policy.identity.api_keys import digest_of
from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.identity.credentials import MAX_KEY_CHARACTERS, CredentialIdentifier
from headworks.policy.identity.settings import ApiKey, CredentialSettings
from tests.contracts.identifier import check_identifier, peer

KEY = "hw_Zk2v8dQx1mS0pLr7"
ANN = ApiKey(digest_of(KEY), "acme", "ann", ("analyst",), {"region": "eu"})
BOB = ApiKey(digest_of("hw_other"), "acme", "bob")
KNOWS_TWO = CredentialIdentifier(CredentialSettings(keys=(BOB, ANN)))


CALLER = Caller("acme", "ann", AuthenticatedBy.API_KEY, ("analyst",), {"region": "eu"})
KNOWN = {
    "bearer": {"authorization": f"Bearer {KEY}"},
    "scheme in lower case, and spaces": {"authorization": f"bearer   {KEY} "},
    "header of its own": {"x-api-key": KEY},
    "the same key twice": {"authorization": f"Bearer {KEY}", "x-api-key": KEY},
}
"""Scheme names know no case (RFC 9110, section 11.1)."""
WRONG = {
    "empty": {"authorization": ""},
    "scheme alone": {"authorization": "Bearer"},
    "scheme and a space": {"authorization": "Bearer "},
    "another scheme": {"authorization": f"Basic {KEY}"},
    "no scheme": {"authorization": KEY},
    "two keys in one": {"authorization": f"Bearer {KEY} {KEY}"},
    "empty header of its own": {"x-api-key": ""},
    "another key": {"x-api-key": "wrong"},
    "the digest": {"x-api-key": digest_of(KEY)},
    "another case": {"x-api-key": KEY.lower()},
    "longer than any key": {"x-api-key": "k" * (MAX_KEY_CHARACTERS + 1)},
    "two keys": {"authorization": f"Bearer {KEY}", "x-api-key": "hw_other"},
    "a key and an empty one": {"authorization": f"Bearer {KEY}", "x-api-key": ""},
}


async def test_api_keys_keep_the_contract_of_identifiers() -> None:
    """Wrong credentials are never taken for none; two keys must be one."""
    known = {word: (peer(metadata), CALLER) for word, metadata in KNOWN.items()}
    await check_identifier(lambda: KNOWS_TWO, known, {word: peer(metadata) for word, metadata in WRONG.items()})


async def test_no_credentials_on_loopback_is_the_local_operator() -> None:
    """The embedded default needs no set-up."""
    caller = await KNOWS_TWO.identify(peer({}, is_loopback=True))
    assert caller == Caller("local", "loopback", AuthenticatedBy.LOOPBACK, ("operator",))


async def test_no_credentials_on_loopback_is_nobody_once_the_operator_says_so() -> None:
    """A machine that many people share has no local operator."""
    with pytest.raises(UnknownCaller):
        await CredentialIdentifier(CredentialSettings(allow_loopback=False)).identify(peer({}, is_loopback=True))


names = st.sampled_from(["authorization", "x-api-key", "other", "x-forwarded-for"])
values = st.text() | st.binary() | st.none() | st.just(f"Bearer {KEY[:-1]}") | st.text().map("Bearer ".__add__)


@given(st.dictionaries(names, values))
def test_garbage_is_an_unknown_caller_and_nothing_else(metadata: dict[str, Any]) -> None:
    """From anywhere but loopback, no garbage gets in or raises anything else."""
    with pytest.raises(UnknownCaller):
        asyncio.run(KNOWS_TWO.identify(peer(metadata)))


@given(st.dictionaries(st.sampled_from(["authorization", "x-api-key"]), values, min_size=1))
def test_garbage_credentials_never_become_the_local_operator(metadata: dict[str, Any]) -> None:
    """The loopback caller is for those who sent none."""
    with pytest.raises(UnknownCaller):
        asyncio.run(KNOWS_TWO.identify(peer(metadata, is_loopback=True)))


async def test_no_secret_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    """Neither by repr nor by message nor in logs."""
    caplog.set_level(logging.DEBUG)
    asking = peer({"x-api-key": "hw_almost"}, is_loopback=True)
    with pytest.raises(UnknownCaller) as refused:
        await KNOWS_TWO.identify(asking)
    values = (asking, refused.value, ANN, KNOWS_TWO, CredentialSettings(keys=(ANN,)))
    shown = f"{values!r} {refused.value} {caplog.text}"
    assert not any(secret in shown for secret in ("hw_almost", KEY, digest_of(KEY)))


@pytest.mark.parametrize("digest", ["", KEY, digest_of(KEY).upper(), digest_of(KEY) + "\n"])
def test_a_key_in_place_of_its_digest_is_refused_unshown(digest: str) -> None:
    """An operator who pastes the key itself must not find it in a traceback."""
    with pytest.raises(ValueError, match="acme/ann") as refused:
        ApiKey(digest, "acme", "ann")
    assert not digest or digest not in str(refused.value)


async def test_every_key_is_compared() -> None:
    """The last key is found behind many others, and the first does not end the search early."""
    many = tuple(ApiKey(digest_of(f"key-{number}"), "acme", str(number)) for number in range(100))
    identifier = CredentialIdentifier(CredentialSettings(keys=many))
    for number in (0, 50, 99):
        caller = await identifier.identify(peer({"x-api-key": f"key-{number}"}))
        assert caller.subject == str(number)
