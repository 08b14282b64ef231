"""The client against a real server: events, errors, cancellation."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from typing import Any

import grpc
import pytest

from headworks.intake.errors import TooLarge
from headworks.intake.span import Modality
from headworks.intake.voice.encoding import AudioEncoding, VoiceForm
from headworks.policy.verdict import CEILINGS, Obligations
from headworks.server.client.client import CallFailed, HeadworksClient
from headworks.server.flow.allowance import Allowance
from headworks.server.flow.errors import Draining, TooMany
from headworks.server.flow.service_class import ServiceClass
from headworks.server.rpc.call import fail
from headworks.server.turn.steps import Accepted, Chunk, Delta, Setup
from headworks.v1.turn_pb2_grpc import TurnServiceServicer, add_TurnServiceServicer_to_server
from tests.server.cli.scripted import EVENTS, JUDGEMENT, NORMALIZED, TURN_ID, ScriptedTurns


async def nothing() -> AsyncGenerator[Chunk, None]:
    for chunk in (Chunk(Modality.TEXT, b"hi", True),):
        yield chunk


@pytest.fixture
async def turns() -> ScriptedTurns:
    return ScriptedTurns()


@pytest.fixture
async def client(turns: ScriptedTurns) -> AsyncIterator[HeadworksClient]:
    server = grpc.aio.server()
    add_TurnServiceServicer_to_server(turns, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with HeadworksClient(f"127.0.0.1:{port}", api_key="secret") as opened:
        yield opened
    await server.stop(0)


async def test_events_arrive_as_they_were_sent(client: HeadworksClient) -> None:
    """The client's values are the server's own, so that nothing is lost between the two translations."""
    assert tuple([event async for event in client.converse(Setup(), nothing())]) == EVENTS


async def test_every_obligation_and_what_is_left_arrive_as_sent(client: HeadworksClient, turns: ScriptedTurns) -> None:
    """A ceiling that one of the two translations forgets would look like none."""
    numbers = {name: number for number, name in enumerate(CEILINGS, 1)}
    sizes = (("text", 7), ("voice", 2**40))
    obligations = Obligations(**numbers, weight=2.5, per_subject=True, cut_answers=True)
    obligations = replace(obligations, modalities=("text",), max_bytes=sizes)
    judgement = replace(JUDGEMENT, verdict=replace(JUDGEMENT.verdict, obligations=obligations))
    left = (Allowance("obligations.turns_per_second", 5, 4, 0.25), Allowance("obligations.tokens_per_day", 9, 0, 1e5))
    turns.scenes = (Accepted(TURN_ID, "m", judgement, left),)
    assert [event async for event in client.converse(Setup(), nothing())] == [turns.scenes[0]]


async def test_spans_arrive_as_they_were_sent(client: HeadworksClient) -> None:
    """Every kind of origin survives the wire."""
    assert await client.normalize(Setup(), nothing()) == NORMALIZED


async def test_setup_and_every_kind_of_part_reach_the_server(client: HeadworksClient, turns: ScriptedTurns) -> None:
    """Setup is first, a part keeps its kind and its end, the key is a bearer token."""

    async def parts() -> AsyncGenerator[Chunk, None]:
        for modality in Modality:
            yield Chunk(modality, b"x", is_last=modality is not Modality.VOICE)

    setup = Setup(
        "m", "be brief", "test", VoiceForm(AudioEncoding.LINEAR16, 8000, True), 7, 0.5, 0.9, 3, ServiceClass.BATCH
    )
    [_ async for _ in client.converse(setup, parts())]
    sent = turns.requests[0].setup
    assert (sent.model, sent.instructions, sent.purpose) == ("m", "be brief", "test")
    assert (sent.voice.encoding, sent.voice.sample_rate_hertz, sent.voice.partials) == (2, 8000, True)
    assert (sent.generation.max_output_tokens, sent.generation.seed, sent.service_class) == (7, 3, 2)
    assert [request.WhichOneof("step") for request in turns.requests[1:]] == ["text", "audio", "image", "table"]
    assert [turns.parts(kind)[0].last for kind in ("text", "audio", "image", "table")] == [True, False, True, True]
    assert turns.metadata["authorization"] == "Bearer secret"


async def test_a_failed_call_carries_reason_limit_and_turn(client: HeadworksClient, turns: ScriptedTurns) -> None:
    """The rich details are what a program decides on."""
    turns.scenes = (TooLarge("intake.image.max_pixels", 10, 20),)
    with pytest.raises(CallFailed) as caught:
        [_ async for _ in client.converse(Setup(), nothing())]
    error = caught.value
    assert (error.code, error.reason, error.turn_id) == ("RESOURCE_EXHAUSTED", "TOO_LARGE", TURN_ID)
    assert error.metadata == {"limit": "intake.image.max_pixels", "allowed": "10", "seen": "20"}
    assert error.retry_after_seconds is None


async def test_a_failed_call_says_how_long_to_wait(client: HeadworksClient, turns: ScriptedTurns) -> None:
    """RetryInfo is the server's word on when to come back."""
    turns.scenes = (Draining(),)
    with pytest.raises(CallFailed) as caught:
        await client.normalize(Setup(), nothing())
    assert (caught.value.reason, caught.value.retry_after_seconds) == ("DRAINING", 1.0)


async def test_an_error_of_the_input_cancels_the_turn(client: HeadworksClient, turns: ScriptedTurns) -> None:
    """A file that fails half-way must not look like a short one."""
    turns.scenes = (asyncio.Event(),)
    turns.reads_all = False

    async def parts() -> AsyncGenerator[Chunk, None]:
        yield Chunk(Modality.TABLE, b"a,b", is_last=False)
        # A call that is cancelled before the server took it up is never seen there.
        await turns.started.wait()
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        [_ async for _ in client.converse(Setup(), parts())]
    async with asyncio.timeout(5):
        await turns.cancelled.wait()


async def test_closing_the_events_cancels_the_turn(client: HeadworksClient, turns: ScriptedTurns) -> None:
    """Whoever stops reading stops the answer, and the input with it (vllm#54947)."""
    turns.scenes = (*EVENTS[:6], asyncio.Event())
    is_closed = asyncio.Event()
    more = asyncio.Event()
    turns.reads_all = False

    async def parts() -> AsyncGenerator[Chunk, None]:
        try:
            yield Chunk(Modality.TEXT, b"hi", is_last=False)
            await more.wait()
        finally:
            is_closed.set()

    events = client.converse(Setup(), parts())
    async for event in events:
        if isinstance(event, Delta):
            break
    await events.aclose()
    async with asyncio.timeout(5):
        await turns.cancelled.wait()
        await is_closed.wait()


async def test_an_error_while_input_is_sent_ends_the_sending(client: HeadworksClient, turns: ScriptedTurns) -> None:
    """The server's word comes through although the input would go on for ever."""
    turns.scenes, turns.reads_all = (Draining(),), False

    async def parts() -> AsyncGenerator[Chunk, None]:
        while True:
            yield Chunk(Modality.VOICE, bytes(1000), is_last=False)

    with pytest.raises(CallFailed) as caught:
        [_ async for _ in client.converse(Setup(), parts())]
    assert caught.value.reason == "DRAINING"


async def test_nobody_there_is_unavailable_without_a_reason() -> None:
    """gRPC's own failure is told from the gateway's by its empty reason."""
    async with HeadworksClient("127.0.0.1:1") as client:
        with pytest.raises(CallFailed) as caught:
            await client.normalize(Setup(), nothing())
    assert (caught.value.code, caught.value.reason) == ("UNAVAILABLE", "")


class RefusesUnread(TurnServiceServicer):
    """Refuses each call before it has read anything, as a limit in front of the handlers does."""

    async def Converse(self, request_iterator: Any, context: Any) -> None:  # type: ignore[override]  # noqa: N802
        await fail(context, TooMany("flow.max_turns", 1, 2.0), "turn-1")


async def test_a_refusal_reaches_a_caller_who_is_still_sending() -> None:
    """grpc.aio's own `write`, and its request generators, make INTERNAL of it: "Internal error from Core"."""
    server = grpc.aio.server()
    add_TurnServiceServicer_to_server(RefusesUnread(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()

    async def parts() -> AsyncGenerator[Chunk, None]:
        for _ in range(60):
            yield Chunk(Modality.TEXT, b"x" * 60_000, is_last=False)

    async def refused(client: HeadworksClient) -> tuple[str, str, float | None]:
        with pytest.raises(CallFailed) as caught:
            [_ async for _ in client.converse(Setup(), parts())]
        return caught.value.code, caught.value.metadata["limit"], caught.value.retry_after_seconds

    async with HeadworksClient(f"127.0.0.1:{port}") as client:
        ends = await asyncio.gather(*(refused(client) for _ in range(20)))
    await server.stop(0)
    assert set(ends) == {("RESOURCE_EXHAUSTED", "flow.max_turns", 2.0)}
