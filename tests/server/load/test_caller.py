"""One turn of the load over the shipped client, against a scripted server."""

import asyncio
from collections.abc import AsyncIterator

import grpc
import pytest

from headworks.server.client.client import CallFailed, HeadworksClient
from headworks.server.client.patience import Patience
from headworks.server.clock import SystemClock
from headworks.server.engine.errors import EngineBroken
from headworks.server.flow.errors import Draining, TooMany
from headworks.server.load.caller import PURPOSE, Caller, ending_of, prompt_chunks
from headworks.server.load.mix import Turn
from headworks.server.load.notes import Notes, Second
from headworks.server.load.tally import Figures, State, Tally
from headworks.v1.turn_pb2_grpc import add_TurnServiceServicer_to_server
from tests.server.cli.scripted import EVENTS, ScriptedTurns

TURN = Turn(0, "how many", 7)
FULL = TooMany("flow.max_turns", 64, 0.01)
CLOCK = SystemClock()


class Sent:
    """Sends turns to a script, and tells what was noted."""

    def __init__(self, client: HeadworksClient, turns: ScriptedTurns) -> None:
        self.turns = turns
        self._client = client

    async def send(
        self, patience: Patience | None = None, deadline_seconds: float = 30.0, *, due_before: float = 0.0
    ) -> tuple[Figures, float]:
        tally = Tally()
        caller = Caller([[self._client]], "", deadline_seconds, patience, CLOCK)
        away = await caller.send(TURN, CLOCK.now() - due_before, Notes(tally, Second()))
        figures = tally.figures(1.0)
        assert sum(figures.counts.values()) == 1
        return figures, away


@pytest.fixture
async def sent() -> AsyncIterator[Sent]:
    turns = ScriptedTurns()
    server = grpc.aio.server()
    add_TurnServiceServicer_to_server(turns, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with HeadworksClient(f"127.0.0.1:{port}", has_own_connection=True) as client:
        yield Sent(client, turns)
    await server.stop(0)


async def test_a_finished_turn_brings_its_tokens(sent: Sent) -> None:
    """Those of the answer as they came, those of the prompt as the server booked them."""
    figures, _ = await sent.send()
    assert (figures.counts[State.FINISHED], figures.goodput, figures.prompt_tokens) == (1, 3.0, 321)
    assert figures.first_token_p50 is not None
    assert figures.gap_p50 is not None
    setup = sent.turns.requests[0].setup
    assert (setup.purpose, setup.generation.max_output_tokens) == (PURPOSE, 7)


async def test_a_refused_turn_is_tried_again_and_counted_once(sent: Sent) -> None:
    """A good client comes back; its turn is one turn, of two calls."""
    sent.turns.scenes, sent.turns.later = (FULL,), EVENTS
    figures, away = await sent.send(Patience(retries=1))
    assert (figures.offered, figures.counts[State.FINISHED], figures.tries) == (1, 1, 2)
    assert figures.refusals == (("flow.max_turns", 1),)
    assert away == 0.0


async def test_a_turn_that_stays_refused_keeps_its_caller_away(sent: Sent) -> None:
    """What the server asked for holds for the caller's next turn too."""
    sent.turns.scenes = (FULL,)
    figures, away = await sent.send(Patience(retries=2))
    assert (figures.counts[State.REFUSED], figures.tries, away) == (1, 3, 0.01)
    assert figures.reasons == ((State.REFUSED, "flow.max_turns", 1),)


async def test_a_bad_client_does_not_listen(sent: Sent) -> None:
    """With --ignore-retry-info, to see what such clients do to a server."""
    sent.turns.scenes = (FULL,)
    figures, away = await sent.send(None)
    assert (figures.counts[State.REFUSED], figures.tries, away) == (1, 1, 0.0)


async def test_a_turn_that_breaks_after_its_first_token_has_failed(sent: Sent) -> None:
    """Its tokens came to nothing, and no other try can mend them."""
    sent.turns.scenes = (*EVENTS[:6], EngineBroken("gone"))
    figures, _ = await sent.send(Patience(retries=3))
    assert figures.reasons == ((State.FAILED, "ABORTED ENGINE_BROKEN", 1),)
    assert (figures.tries, figures.goodput, figures.tokens_per_second) == (1, 0.0, 2.0)


async def test_a_turn_that_outlives_its_deadline_is_late(sent: Sent) -> None:
    """It is cancelled then: nobody would read the rest."""
    sent.turns.scenes = (*EVENTS[:6], asyncio.Event())
    figures, _ = await sent.send(deadline_seconds=0.3)
    assert figures.counts[State.LATE] == 1


async def test_a_turn_whose_deadline_passed_before_it_was_sent_is_the_clients_fault(sent: Sent) -> None:
    """The server never saw it, and must not be blamed."""
    figures, _ = await sent.send(due_before=31.0)
    assert (figures.counts[State.UNSENT], figures.tries) == (1, 0)
    assert sent.turns.requests == []


async def test_the_deadline_counts_from_when_the_turn_was_due(sent: Sent) -> None:
    """A client that sends late must not give the server more time."""
    sent.turns.scenes = (asyncio.Event(),)
    figures, _ = await sent.send(deadline_seconds=30.0, due_before=29.8)
    assert figures.counts[State.LATE] == 1


@pytest.mark.parametrize(
    ("error", "state", "why"),
    [
        (CallFailed("RESOURCE_EXHAUSTED", "TOO_MANY", "m", {"limit": "flow.a"}), State.REFUSED, "flow.a"),
        (CallFailed("RESOURCE_EXHAUSTED", "LATE", "m", {"limit": "deadline"}), State.REFUSED, "deadline (LATE)"),
        (CallFailed("RESOURCE_EXHAUSTED", "", "Concurrent RPC limit"), State.REFUSED, "unnamed: Concurrent RPC limit"),
        (CallFailed("DEADLINE_EXCEEDED", "", "m"), State.LATE, ""),
        (CallFailed("DEADLINE_EXCEEDED", "TURN_TIMED_OUT", "m", {"limit": "deadline"}), State.LATE, ""),
        (CallFailed("DEADLINE_EXCEEDED", "TURN_TIMED_OUT", "m", {"limit": "turn.a"}), State.LATE, "turn.a"),
        (CallFailed("UNAVAILABLE", "DRAINING", "m"), State.FAILED, "UNAVAILABLE DRAINING"),
        (CallFailed("CANCELLED", "", "m"), State.FAILED, "CANCELLED"),
    ],
)  # fmt: skip
def test_each_error_is_one_end(error: CallFailed, state: State, why: str) -> None:
    """A limit's refusal, the deadline, or a failure by its code."""
    ending = ending_of(error)
    assert (ending.state, ending.why) == (state, why)


async def test_a_drain_is_a_failure_that_is_waited_for(sent: Sent) -> None:
    """It says when to come back, as a limit does."""
    sent.turns.scenes, sent.turns.later = (Draining(),), (EngineBroken("gone"),)
    figures, _ = await sent.send(Patience(retries=1), deadline_seconds=0.5)
    assert figures.reasons == ((State.FAILED, "UNAVAILABLE DRAINING", 1),), "its second is longer than the deadline"


async def test_a_long_prompt_is_cut_into_messages() -> None:
    """The contract bounds a chunk of text."""
    chunks = [chunk async for chunk in prompt_chunks("word " * 30_000)]
    assert [len(chunk.data) for chunk in chunks] == [65_536, 65_536, 18_928]
    assert [chunk.is_last for chunk in chunks] == [False, False, True]
