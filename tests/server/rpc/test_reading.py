"""Bytes that are no message, from both calls and from the services that are not ours: refused, named, not logged."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headworks.server.rpc.settings import RpcSettings
from tests.server.edge import Edge, Failure, edge, failure_from, setup, text
from tests.server.rpc.watching import watched

TURNS = "/headworks.v1.TurnService/"
SETUP, HELLO = setup(purpose="demo").SerializeToString(), text("Hello.").SerializeToString()
UNREADABLE = {
    "noise": b"\xff\xff\xff",
    "cut short": SETUP[:-1],
    "field number zero": b"\x02\x00",
    "a group that does not end": b"\x0b",
    "a group that did not begin": b"\x0c",
    "groups too deep": b"\x0b" * 200 + b"\x0c" * 200,
    "length over the message": b"\x12\xff\xff\xff\xff\x07",
    "wire type seven": b"\x0f",
    "varint without an end": b"\x08" + b"\xff" * 11,
}
NOT_UTF_8 = b"\x0a\x02\xff\xfe"
"""In a field that is text in a text chunk, a health check and a reflection request."""
WITHOUT_A_STEP = {
    "empty": b"",
    "the wrong wire type": b"\x10\x01",
    "a group": b"\x0b\x0c",
    "a strange field": b"\xf8\x7f\x01",
}
"""Protobuf keeps what it does not know, so these are messages; they only hold no step."""
OTHERS = {
    "Check": "/grpc.health.v1.Health/Check",
    "Watch": "/grpc.health.v1.Health/Watch",
    "v1": "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "v1alpha": "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
}


async def failure_of_bytes(server: Edge, path: str, *messages: bytes, **options: Any) -> Failure:
    """Send bytes as messages, and read the call to its error."""
    try:
        if path == OTHERS["Check"]:
            await server.channel.unary_unary(path)(messages[0], **options)
        elif path == OTHERS["Watch"]:
            [_ async for _ in server.channel.unary_stream(path)(messages[0], **options)]
        elif path.endswith("Normalize"):
            await server.channel.stream_unary(path)(iter(messages), **options)
        else:
            [_ async for _ in server.channel.stream_stream(path)(iter(messages), **options)]
    except grpc.aio.AioRpcError as error:
        return failure_from(error)
    raise AssertionError("the call ended well")


@asynccontextmanager
async def quiet(caplog: pytest.LogCaptureFixture, **options: Any) -> AsyncIterator[Edge]:
    """A server that logs no error."""
    async with watched(**options) as server:
        yield server
        await server.still_works()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("call", ["Converse", "Normalize"])
async def test_bytes_that_are_no_message_are_named(call: str, caplog: pytest.LogCaptureFixture) -> None:
    """They are the caller's mistake and no fault of ours, first or later in a call (vllm PR#55451)."""
    async with quiet(caplog) as server:
        for word, data in (UNREADABLE | {"text": b"\x12\x04" + NOT_UTF_8}).items():
            for messages in ((data,), (SETUP, data), (SETUP, HELLO, data, data)):
                failure = await failure_of_bytes(server, TURNS + call, *messages)
                assert (failure.code, failure.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "BAD_REQUEST"), word
                assert failure.message == f"a message that is not a {call}Request"


@pytest.mark.parametrize("call", ["Converse", "Normalize"])
@pytest.mark.parametrize("word", WITHOUT_A_STEP)
async def test_a_message_without_a_step_is_named(call: str, word: str, caplog: pytest.LogCaptureFixture) -> None:
    """It is well formed, so it is told what it lacks."""
    async with quiet(caplog) as server:
        failure = await failure_of_bytes(server, TURNS + call, WITHOUT_A_STEP[word])
        assert (failure.code, failure.message) == (grpc.StatusCode.INVALID_ARGUMENT, "a message without a step")


@pytest.mark.parametrize("call", ["Converse", "Normalize"])
async def test_a_refusal_stays_itself_whatever_follows(call: str, caplog: pytest.LogCaptureFixture) -> None:
    """A failed call is still read for a moment; what comes then changes nothing."""
    async with quiet(caplog, rpc=RpcSettings(port=0, max_message_bytes=1_000)) as server:
        for data in (*UNREADABLE.values(), bytes(1_500)):
            failure = await failure_of_bytes(server, TURNS + call, HELLO, data, data, b"")
            assert failure.reason == "OUT_OF_ORDER", data
            failure = await failure_of_bytes(server, TURNS + call, data, metadata=(("x-api-key", "no"),))
            assert failure.reason == "UNKNOWN_CALLER", data


@pytest.mark.parametrize("path", [TURNS + "Converse", TURNS + "Normalize", *OTHERS.values()])
async def test_a_message_too_large_names_the_setting(path: str, caplog: pytest.LogCaptureFixture) -> None:
    """The caller can then cut its parts into smaller chunks."""
    async with quiet(caplog, rpc=RpcSettings(port=0, max_message_bytes=1_000)) as server:
        failure = await failure_of_bytes(server, path, bytes(1_001))
        assert (failure.code, failure.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_LARGE")
        assert failure.metadata == {"limit": "rpc.max_message_bytes", "allowed": "1000", "seen": "1001"}
        cut = await failure_of_bytes(server, path, bytes(2_001))
        assert cut.code is grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.parametrize("service", OTHERS)
async def test_health_and_reflection_refuse_noise_without_a_stack(
    service: str, caplog: pytest.LogCaptureFixture
) -> None:
    """gRPC would log one for each, so anybody could fill the log."""
    async with quiet(caplog) as server:
        for data in (*UNREADABLE.values(), NOT_UTF_8):
            failure = await failure_of_bytes(server, OTHERS[service], data)
            assert (failure.code, failure.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "BAD_REQUEST")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=40), min_size=1, max_size=3))
async def test_no_bytes_are_our_fault(caplog: pytest.LogCaptureFixture, messages: list[bytes]) -> None:
    """Whatever is sent as messages, the call ends as the caller's mistake."""
    async with edge() as server:
        failure = await failure_of_bytes(server, TURNS + "Converse", *messages)
        assert failure.code is grpc.StatusCode.INVALID_ARGUMENT, failure
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_damaged_compression_harms_its_call_alone(caplog: pytest.LogCaptureFixture) -> None:
    """gRPC itself finds it and picks the status; the server logs nothing, and serves the next caller."""
    async with quiet(caplog) as server:
        relay = await asyncio.start_server(_damaging(server.server.port), "127.0.0.1", 0)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{relay.sockets[0].getsockname()[1]}") as channel:
            call = channel.stream_stream(TURNS + "Converse")
            gzip = grpc.Compression.Gzip
            with pytest.raises(grpc.aio.AioRpcError, match="Decompression failed"):
                [_ async for _ in call(iter([SETUP, text("Hi. " * 500).SerializeToString()]), compression=gzip)]
        relay.close()


def _damaging(port: int) -> Any:
    """Relay a connection, and break the first bytes of everything in gzip."""

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, damage: bytes) -> None:
        while data := await reader.read(65_536):
            writer.write(data.replace(b"\x1f\x8b", damage))
        writer.close()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        onward_reader, onward_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pump(reader, onward_writer, bytes(2)), pump(onward_reader, writer, b"\x1f\x8b"))

    return relay


@pytest.mark.parametrize("call", ["Converse", "Normalize"])
@pytest.mark.parametrize("size", [9_000, 12_000, 16_000])
async def test_metadata_up_to_the_limit_is_always_taken(call: str, size: int) -> None:
    """By default gRPC refuses what is over 8 KiB by chance, so each size is tried often (grpc/grpc#37852)."""
    async with watched() as server:
        for _ in range(10):
            failure = await failure_of_bytes(server, TURNS + call, b"", metadata=(("x-big", "a" * size),))
            assert failure.message == "a message without a step"


@pytest.mark.parametrize("call", ["Converse", "Normalize"])
async def test_metadata_over_the_limit_names_the_setting(call: str) -> None:
    """Both in one large value and in many small ones, before anybody is identified."""
    one, many = (("x-big", "a" * 16_400),), tuple((f"x-{number:05}", "") for number in range(420))
    async with watched() as server:
        for metadata in (one, many):
            failure = await failure_of_bytes(server, TURNS + call, SETUP, HELLO, metadata=metadata)
            assert (failure.code, failure.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_LARGE")
            assert failure.metadata["limit"] == "rpc.max_metadata_bytes"
        assert server.recorder.started == []
