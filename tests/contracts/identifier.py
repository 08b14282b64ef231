"""What every `Identifier` must do, whatever it knows callers by."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from headworks.policy.errors import UnknownCaller
from headworks.policy.identity.caller import Caller, Identifier
from headworks.policy.identity.peer import Peer

_CLAIMS = {"x-tenant": "other", "tenant": "other", "x-subject": "root", "x-roles": "operator", "user-agent": "\0"}
"""What a sender may say of itself, and nobody believes."""


def peer(metadata: Mapping[str, str], *, is_loopback: bool = False, is_encrypted: bool = True) -> Peer:
    return Peer(metadata, is_loopback=is_loopback, is_encrypted=is_encrypted)


async def check_identifier(
    make: Callable[[], Identifier], known: Mapping[str, tuple[Peer, Caller]], wrong: Mapping[str, Peer]
) -> None:
    """Run the contract on one identifier.

    Args:
        make: Makes an identifier; called more than once.
        known: By a word for each: a peer whose credentials are good, and whose they are.
        wrong: By a word for each: a peer whose credentials are not good.
    """
    for word, (good, caller) in known.items():
        await _good_credentials_name_their_caller(make(), word, good, caller)
    for word, bad in wrong.items():
        await _wrong_credentials_are_refused_everywhere(make(), word, bad)
    await _nobody_off_this_machine_gets_in_without_credentials(make())
    await _a_refusal_changes_nothing(make(), known, wrong)


async def _good_credentials_name_their_caller(identifier: Identifier, word: str, good: Peer, caller: Caller) -> None:
    """Neither what else the peer says nor how it came changes who it is."""
    claiming = replace(good, metadata={**_CLAIMS, **good.metadata})
    for one in (good, good, claiming, replace(claiming, is_loopback=True), replace(good, is_encrypted=False)):
        assert await identifier.identify(one) == caller, word
    assert caller.tenant, "who pays is known"


async def _wrong_credentials_are_refused_everywhere(identifier: Identifier, word: str, bad: Peer) -> None:
    """They are never taken for none, which a local caller might do without; and they are never repeated."""
    for one in (bad, replace(bad, is_loopback=True), replace(bad, is_encrypted=False)):
        with pytest.raises(UnknownCaller) as refused:
            await identifier.identify(one)
        for value in bad.metadata.values():
            assert len(value) < 8 or value not in f"{refused.value!r}", word


async def _nobody_off_this_machine_gets_in_without_credentials(identifier: Identifier) -> None:
    for metadata in ({}, _CLAIMS):
        with pytest.raises(UnknownCaller):
            await identifier.identify(peer(metadata))


async def _a_refusal_changes_nothing(
    identifier: Identifier, known: Mapping[str, tuple[Peer, Caller]], wrong: Mapping[str, Peer]
) -> None:
    for bad in wrong.values():
        with pytest.raises(UnknownCaller):
            await identifier.identify(bad)
        for good, caller in known.values():
            assert await identifier.identify(good) == caller
