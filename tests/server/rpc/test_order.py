"""Steps out of order and input that is not what it says: the same listed error from both calls."""

import grpc
import pytest

from headworks.v1 import turn_pb2 as pb
from tests.server.edge import END, failure_from, failure_of, setup, table, text
from tests.server.rpc.watching import as_normalize, settled, watched

INVALID = grpc.StatusCode.INVALID_ARGUMENT
PNG, ZIP = b"\x89PNG\r\n\x1a\n" + bytes(50), b"PK\x03\x04" + bytes(50)


def voice(encoding: int, rate: int) -> pb.VoiceSetup:
    return pb.VoiceSetup(encoding=encoding, sample_rate_hertz=rate)  # type: ignore[arg-type]  # also what is none


FAULTS: dict[str, tuple[list[pb.ConverseRequest], str, str]] = {
    "nothing sent": ([], "OUT_OF_ORDER", "setup"),
    "end before setup": ([END], "OUT_OF_ORDER", "setup"),
    "empty first message": ([pb.ConverseRequest()], "BAD_REQUEST", "without a step"),
    "second setup after input": ([setup(), text("Hi."), setup()], "OUT_OF_ORDER", "second setup"),
    "text in a table": ([setup(), table(b"a\n1\n", last=False), text("Hi.")], "OUT_OF_ORDER", "table part"),
    "picture in a text": (
        [setup(), text("Look", last=False), pb.ConverseRequest(image=pb.MediaChunk(data=PNG))],
        "OUT_OF_ORDER",
        "text part",
    ),
    "table without its last chunk": ([setup(), table(b"a\n1\n", last=False)], "BAD_MEDIA", "table 1 was cut short"),
    "second table cut short": ([setup(), table(b"a\n1\n"), table(b"a", last=False), END], "BAD_MEDIA", "table 2 was"),
    "no input": ([setup()], "BAD_MEDIA", "came to no text"),
    "empty text": ([setup(), text("")], "BAD_MEDIA", "text 1: no bytes"),
    "empty table": ([setup(), table(b"")], "BAD_MEDIA", "table 1: no bytes"),
    "NUL in text": ([setup(), text("a\0b")], "BAD_MEDIA", "text 1: a NUL byte at byte 1"),
    "picture for a table": ([setup(), table(PNG)], "BAD_MEDIA", "table 1: this is a PNG picture"),
    "archive for the second table": ([setup(), table(b"a\n1\n"), table(ZIP)], "BAD_MEDIA", "table 2: this is a zip"),
    "CSV not in UTF-8": (
        [setup(), table(b"a,b\n\xff\xfa,1\n" * 9)],
        "BAD_MEDIA",
        "table 1: CSV is not UTF-8 at",
    ),
    "torn Parquet": ([setup(), table(b"PAR1" + bytes(range(200)))], "BAD_MEDIA", "table 1"),
    "negative ceiling": ([setup(generation=pb.Generation(max_output_tokens=-1))], "BAD_REQUEST", "max_output_tokens"),
    "ceiling over the limit": (
        [setup(generation=pb.Generation(max_output_tokens=10**6))],
        "BAD_REQUEST",
        "max_output_tokens",
    ),
    "service class": ([setup(service_class=9)], "BAD_REQUEST", "setup.service_class"),
    "long purpose": ([setup(purpose="x" * 65)], "BAD_REQUEST", "setup.purpose"),
    "purpose long in bytes": ([setup(purpose="é" * 33)], "BAD_REQUEST", "setup.purpose"),
    "instructions long in bytes": ([setup(instructions="é" * 2049)], "BAD_REQUEST", "setup.instructions"),
    "temperature below zero": ([setup(generation=pb.Generation(temperature=-0.1))], "BAD_REQUEST", "temperature"),
    "top_p of nothing": ([setup(generation=pb.Generation(top_p=0))], "BAD_REQUEST", "top_p"),
    "top_p over one": ([setup(generation=pb.Generation(top_p=1.1))], "BAD_REQUEST", "top_p"),
    "temperature that is no number": (
        [setup(generation=pb.Generation(temperature=float("nan")))],
        "BAD_REQUEST",
        "temperature",
    ),
    "unknown encoding": ([setup(voice=voice(9, 0))], "BAD_REQUEST", "setup.voice.encoding 9"),
    "rate of a container": ([setup(voice=voice(1, 16_000))], "BAD_REQUEST", "for LINEAR16 only"),
    "rate of no encoding": ([setup(voice=voice(0, 16_000))], "BAD_REQUEST", "for LINEAR16 only"),
    "rate too low": ([setup(voice=voice(2, 7_999))], "BAD_REQUEST", "[8000, 192000]"),
    "rate too high": ([setup(voice=voice(2, 192_001))], "BAD_REQUEST", "[8000, 192000]"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_both_calls_name_the_fault(fault: str) -> None:
    """INVALID_ARGUMENT that says what and where, with the turn's id; the next turn works (vllm PR#55451)."""
    steps, reason, words = FAULTS[fault]
    async with watched() as server:
        conversing = server.stub.Converse(iter(steps))
        failure = await failure_of(conversing)
        assert (failure.code, failure.reason) == (INVALID, reason), failure
        assert words in failure.message
        trailing = dict(await conversing.trailing_metadata())
        assert trailing["headworks-turn-id"] == server.recorder.finished[0].turn_id
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await server.stub.Normalize(iter(as_normalize(steps)))
        assert failure_from(caught.value) == failure
        await settled(server)
        await server.still_works()


async def test_bad_turns_beside_a_good_one() -> None:
    """No odd request harms another one on the same connection (vllm#51467)."""
    async with watched() as server:
        good = server.stub.Converse()
        await good.write(setup())
        await good.write(text("Hello. ", last=False))
        for steps, reason, _ in FAULTS.values():
            assert (await failure_of(server.stub.Converse(iter(steps)))).reason == reason
        await good.write(text("Bye."))
        await good.done_writing()
        assert [reply.WhichOneof("event") async for reply in good][-1] == "finished"


async def test_unknown_model_is_not_found_before_any_event() -> None:
    """A turn that never opened still says why (agentgateway PR#1348)."""
    async with watched() as server:
        failure = await failure_of(server.stub.Converse(iter([setup(model="another"), text("Hello.")])))
        assert (failure.code, failure.reason) == (grpc.StatusCode.NOT_FOUND, "UNKNOWN_MODEL")
        assert "'talking'" in failure.message
