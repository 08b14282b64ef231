import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.policy.errors import UnknownCaller
from headworks.policy.identity.api_keys import MAX_KEY_CHARACTERS, ApiKeyIdentifier, digest_of
from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.policy.identity.settings import ApiKey, CredentialSettings

KEY = "hw_Zk2v8dQx1mS0pLr7"
ANN = ApiKey(digest_of(KEY), "acme", "ann", ("analyst",), {"region": "eu"})
BOB = ApiKey(digest_of("hw_other"), "acme", "bob")
KNOWS_TWO = ApiKeyIdentifier(CredentialSettings(keys=(BOB, ANN)))


@pytest.mark.parametrize(
    "metadata",
    [
        {"authorization": f"Bearer {KEY}"},
        {"authorization": f"bearer   {KEY} "},
        {"x-api-key": KEY},
        {"authorization": f"Bearer {KEY}", "x-api-key": KEY},
    ],
)
@pytest.mark.parametrize("peer_is_loopback", [True, False])
def test_a_key_names_its_caller(metadata: dict[str, str], peer_is_loopback: bool) -> None:
    """Scheme names know no case (RFC 9110, section 11.1); attributes come from settings only."""
    caller = KNOWS_TWO.identify(metadata | {"x-tenant": "other"}, peer_is_loopback=peer_is_loopback)
    assert caller == Caller("acme", "ann", AuthenticatedBy.API_KEY, ("analyst",), {"region": "eu"})


def test_no_credentials_on_loopback_is_the_local_operator() -> None:
    """The embedded default needs no set-up."""
    caller = KNOWS_TWO.identify({}, peer_is_loopback=True)
    assert caller == Caller("local", "loopback", AuthenticatedBy.LOOPBACK, ("operator",))


def test_no_credentials_from_elsewhere_is_nobody() -> None:
    """Nor on loopback once the operator said so."""
    with pytest.raises(UnknownCaller):
        KNOWS_TWO.identify({}, peer_is_loopback=False)
    with pytest.raises(UnknownCaller):
        ApiKeyIdentifier(CredentialSettings(allow_loopback=False)).identify({}, peer_is_loopback=True)


@pytest.mark.parametrize(
    "metadata",
    [
        {"authorization": ""},
        {"authorization": "Bearer"},
        {"authorization": "Bearer "},
        {"authorization": f"Basic {KEY}"},
        {"authorization": KEY},
        {"authorization": f"Bearer {KEY} {KEY}"},
        {"x-api-key": ""},
        {"x-api-key": "wrong"},
        {"x-api-key": digest_of(KEY)},
        {"x-api-key": KEY.lower()},
        {"x-api-key": "k" * (MAX_KEY_CHARACTERS + 1)},
        {"authorization": f"Bearer {KEY}", "x-api-key": "hw_other"},
        {"authorization": f"Bearer {KEY}", "x-api-key": ""},
    ],
)
def test_a_wrong_key_is_refused_even_on_loopback(metadata: dict[str, str]) -> None:
    """Wrong credentials are never taken for none; two keys must be one."""
    with pytest.raises(UnknownCaller):
        KNOWS_TWO.identify(metadata, peer_is_loopback=True)


names = st.sampled_from(["authorization", "x-api-key", "other", "x-forwarded-for"])
values = st.text() | st.binary() | st.none() | st.just(f"Bearer {KEY[:-1]}") | st.text().map("Bearer ".__add__)


@given(st.dictionaries(names, values))
def test_p12_garbage_is_an_unknown_caller_and_nothing_else(metadata: dict[str, str]) -> None:
    """P12: from anywhere but loopback, no garbage gets in or raises anything else."""
    with pytest.raises(UnknownCaller):
        KNOWS_TWO.identify(metadata, peer_is_loopback=False)


@given(st.dictionaries(st.sampled_from(["authorization", "x-api-key"]), values, min_size=1))
def test_p12_garbage_credentials_never_become_the_local_operator(metadata: dict[str, str]) -> None:
    """P12: the loopback caller is for those who sent none."""
    with pytest.raises(UnknownCaller):
        KNOWS_TWO.identify(metadata, peer_is_loopback=True)


def test_p13_no_secret_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    """P13: neither by repr nor by message nor in logs."""
    caplog.set_level(logging.DEBUG)
    with pytest.raises(UnknownCaller) as refused:
        KNOWS_TWO.identify({"x-api-key": "hw_almost"}, peer_is_loopback=True)
    shown = f"{refused.value!r} {refused.value} {ANN!r} {KNOWS_TWO!r} {CredentialSettings(keys=(ANN,))!r} {caplog.text}"
    assert not any(secret in shown for secret in ("hw_almost", KEY, digest_of(KEY)))


@pytest.mark.parametrize("digest", ["", KEY, digest_of(KEY).upper(), digest_of(KEY) + "\n"])
def test_a_key_in_place_of_its_digest_is_refused_unshown(digest: str) -> None:
    """An operator who pastes the key itself must not find it in a traceback."""
    with pytest.raises(ValueError, match="acme/ann") as refused:
        ApiKey(digest, "acme", "ann")
    assert not digest or digest not in str(refused.value)


def test_p11_every_key_is_compared() -> None:
    """P11: the last key is found behind many others, and the first does not end the search early."""
    many = tuple(ApiKey(digest_of(f"key-{number}"), "acme", str(number)) for number in range(100))
    identifier = ApiKeyIdentifier(CredentialSettings(keys=many))
    for number in (0, 50, 99):
        caller = identifier.identify({"x-api-key": f"key-{number}"}, peer_is_loopback=False)
        assert caller.subject == str(number)
