"""Coming back after a refusal that says when."""

from collections.abc import AsyncGenerator, AsyncIterator

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.intake.span import Modality
from headworks.server.client.client import CallFailed, HeadworksClient
from headworks.server.client.patience import Patience, converse_patiently
from headworks.server.flow.errors import TooMany
from headworks.server.turn.errors import UnknownModel
from headworks.server.turn.steps import Chunk, Event, Setup
from headworks.v1.turn_pb2_grpc import add_TurnServiceServicer_to_server
from tests.fakes.clocks import HandClock
from tests.server.cli.scripted import EVENTS, ScriptedTurns

FULL = TooMany("flow.max_turns", 64, 5.0)


async def words() -> AsyncGenerator[Chunk, None]:
    yield Chunk(Modality.TEXT, b"hi", is_last=True)


class Caller:
    """A client with patience against a scripted server; its clock turns by its waits alone."""

    def __init__(self, client: HeadworksClient, turns: ScriptedTurns) -> None:
        self.turns = turns
        self.waits: list[float] = []
        self._client = client

    async def ask(self, patience: Patience, timeout_seconds: float | None = None) -> list[Event]:
        """Return the events of all tries."""
        events = converse_patiently(
            self._client,
            Setup(),
            words,
            patience,
            lambda _, seconds: self.waits.append(seconds),
            timeout_seconds,
            HandClock(),
        )
        return [event async for event in events]


@pytest.fixture
async def caller() -> AsyncIterator[Caller]:
    turns = ScriptedTurns((FULL,), later=EVENTS)
    server = grpc.aio.server()
    add_TurnServiceServicer_to_server(turns, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with HeadworksClient(f"127.0.0.1:{port}", has_own_connection=True) as client:
        yield Caller(client, turns)
    await server.stop(0)


async def test_a_refused_turn_is_tried_again_when_the_server_says(caller: Caller) -> None:
    """Whoever comes back at once makes the overload worse (grpc proposal A6)."""
    assert tuple(await caller.ask(Patience(retries=1))) == EVENTS
    assert len(caller.waits) == 1
    assert 5.0 <= caller.waits[0] <= 6.25


async def test_nothing_is_tried_again_unless_it_is_asked_for(caller: Caller) -> None:
    """A library that retries on its own doubles the load of a program that does so too."""
    with pytest.raises(CallFailed) as caught:
        await caller.ask(Patience())
    assert (caught.value.code, caught.value.retry_after_seconds) == ("RESOURCE_EXHAUSTED", 5.0)
    assert caller.waits == []


async def test_retries_end_after_their_count(caller: Caller) -> None:
    """A server that stays full is told to the user in the end."""
    caller.turns.later = (FULL,)
    with pytest.raises(CallFailed):
        await caller.ask(Patience(retries=3))
    assert len(caller.waits) == 3


async def test_a_refusal_without_a_time_is_final(caller: Caller) -> None:
    """Where waiting does not help the server sends no RetryInfo."""
    caller.turns.scenes = (UnknownModel("m", "n"),)
    with pytest.raises(CallFailed):
        await caller.ask(Patience(retries=3))
    assert caller.waits == []


async def test_nothing_is_tried_again_after_the_first_token(caller: Caller) -> None:
    """A reader would see the first half of one answer, and then another answer."""
    caller.turns.scenes = (*EVENTS[:6], FULL)
    with pytest.raises(CallFailed):
        await caller.ask(Patience(retries=3))
    assert caller.waits == []


async def test_a_wait_that_ends_after_the_timeout_is_not_begun(caller: Caller) -> None:
    """The user is told at once, not after a wait that cannot help."""
    with pytest.raises(CallFailed) as caught:
        await caller.ask(Patience(retries=3), timeout_seconds=5.0)
    assert caught.value.metadata["limit"] == "flow.max_turns"
    assert caller.waits == []


@given(told=st.floats(0, 60), chance=st.floats(0, 1, exclude_max=True), tried=st.integers(1, 4))
def test_a_wait_is_never_shorter_than_the_server_said(told: float, chance: float, tried: int) -> None:
    """Nor much longer: the jitter is a share of it."""
    error = CallFailed("RESOURCE_EXHAUSTED", "TOO_MANY", "full", retry_after_seconds=told)
    wait = Patience(retries=3).wait_seconds(error, tried, chance)
    assert wait is None if tried > 3 else wait is not None and told <= wait <= told * 1.25
