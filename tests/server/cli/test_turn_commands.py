"""`ask`, `normalize` and `demo` against a scripted server."""

import asyncio
import json
import re
import signal
from collections.abc import Sequence
from pathlib import Path

import grpc
import pytest

from headworks.intake.errors import BadMedia, TooLarge
from headworks.policy.errors import UnknownCaller
from headworks.policy.verdict import Verdict
from headworks.server.cli.turn_commands import demo_parts
from headworks.server.flow.errors import Draining, TooMany
from headworks.server.turn.errors import TurnRefused, UnknownModel
from headworks.server.turn.steps import Accepted, Delta
from headworks.v1 import turn_pb2 as pb
from headworks.v1.turn_pb2_grpc import add_TurnServiceServicer_to_server
from tests.server.cli.conftest import Serve, command, start_command, write_wav
from tests.server.cli.scripted import EVENTS, FINISHED, JUDGEMENT, TURN_ID, ScriptedTurns

DEMO = Path(__file__).resolve().parents[3] / "server" / "cli" / "demo"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


async def test_ask_sends_files_before_the_question_and_shows_everything(serve: Serve) -> None:
    """What the turn found, what policy said, the answer and where the time went are all there to read."""
    turns = ScriptedTurns()
    target = await serve(turns)
    table, image, audio = DEMO / "orders.csv", DEMO / "receipt.png", DEMO / "question.flac"
    ended = await command(
        "ask", "Which?", "--table", str(table), "--image", str(image), "--audio", str(audio), "--target", target,
        "--max-tokens", "7", "--temperature", "0.5", "--instructions", "be brief", "--purpose", "test", "--model", "m",
        "--batch",
    )  # fmt: skip
    assert (ended.code, ended.error) == (0, "")
    steps = [request.WhichOneof("step") for request in turns.requests]
    assert list(dict.fromkeys(steps)) == ["setup", "table", "image", "audio", "text"]
    assert b"".join(chunk.data for chunk in turns.parts("image")) == image.read_bytes()
    setup = turns.requests[0].setup
    assert (setup.model, setup.generation.max_output_tokens, setup.instructions) == ("m", 7, "be brief")
    assert setup.service_class == pb.SERVICE_CLASS_BATCH
    for shown in (
        TURN_ID, "trust 0.80 = no_credentials 0.80", "LOOPBACK", "decision-1", "2025-12", "TOTAL 12.50", "a receipt",
        "How many orders did we ship in March?", "0.12-2.44 s", "We shipped 459.", "321 tokens in", "4.0 ms",
        "intake of voice", "710.0 ms", "queue", "tokens per second",
    ):  # fmt: skip
        assert shown in ended.out


async def test_piped_output_has_no_control_codes(serve: Serve) -> None:
    """A log or another program reads it; what the model says cannot steer a terminal either."""
    target = await serve(ScriptedTurns((EVENTS[0], Delta("\x1b[31mred\x07\x9b1m\n", (1,)), FINISHED)))
    ended = await command("ask", "hi", "--target", target)
    assert ended.code == 0
    assert not CONTROL.search(ended.out)
    assert "red" in ended.out


async def test_partials_are_not_printed_in_a_pipe(serve: Serve) -> None:
    """A partial is replaced by its final, and a pipe cannot replace."""
    ended = await command("ask", "hi", "--target", await serve(ScriptedTurns()))
    assert ended.out.count("How many") == 1


async def test_json_has_one_object_a_line_in_the_order_of_events(serve: Serve) -> None:
    """A program reads the same turn without parsing tables."""
    ended = await command("ask", "hi", "--json", "--target", await serve(ScriptedTurns()))
    events = [json.loads(line) for line in ended.out.splitlines()]
    assert [event["event"] for event in events] == [
        "accepted", "read", "seen", "heard", "heard", "delta", "delta", "finished",
    ]  # fmt: skip
    assert events[0]["verdict"]["trust"] == {"score": 0.8, "factors": {"no_credentials": 0.8}}
    assert [event["is_final"] for event in events[3:5]] == [False, True]
    assert events[-1]["timings_seconds"]["intake"] == {"voice": 0.71, "table": 0.03}
    assert events[-1]["tokens_per_second"] == 4.0


async def test_normalize_shows_each_span_with_its_origin(serve: Serve) -> None:
    """Every kind of origin has its unit."""
    ended = await command("normalize", "hi", "--target", await serve(ScriptedTurns()))
    assert (ended.code, ended.error) == (0, "")
    for shown in ("characters 0-12", "0.12-2.44 s", "1,2 - 3,4", "rows 0-12, 2 columns", "40 tokens", "0.91"):
        assert shown in ended.out


async def test_normalize_in_json_is_one_object(serve: Serve) -> None:
    """Spans keep their tokens."""
    ended = await command("normalize", "hi", "--json", "--target", await serve(ScriptedTurns()))
    spans = json.loads(ended.out)["spans"]
    assert [span["modality"] for span in spans] == ["text", "voice", "image", "table"]
    assert spans[0]["token_ids"] == [1, 2, 3]


async def test_mic_streams_samples_with_their_rate_and_asks_for_partials(serve: Serve, tmp_path: Path) -> None:
    """LINEAR16 without a header, whole and in pieces of a tenth of a second."""
    turns = ScriptedTurns()
    recording = write_wav(tmp_path / "said.wav", seconds=0.35, rate=8000)
    ended = await command("ask", "--mic", str(recording), "--target", await serve(turns))
    assert ended.code == 0
    voice = turns.requests[0].setup.voice
    assert (voice.encoding, voice.sample_rate_hertz, voice.partials) == (2, 8000, True)
    chunks = turns.parts("audio")
    assert [len(chunk.data) for chunk in chunks] == [1600, 1600, 1600, 800]
    assert [chunk.last for chunk in chunks] == [False, False, False, True]


async def test_the_key_comes_from_the_environment(serve: Serve) -> None:
    """A key on a command line is seen by every process here."""
    turns = ScriptedTurns()
    await command("ask", "hi", "--target", await serve(turns), HEADWORKS_API_KEY="secret")
    assert turns.metadata["authorization"] == "Bearer secret"


async def test_demo_sends_question_table_and_picture_twice(serve: Serve) -> None:
    """First for its spans with their origin, then for the answer; the remark names a bigger model."""
    turns = ScriptedTurns()
    ended = await command("demo", "--target", await serve(turns))
    assert (ended.code, ended.error) == (0, "")
    assert len(demo_parts(DEMO)) == 3
    assert [len(turns.parts(kind)) for kind in ("table", "image", "audio")] == [2, 2, 2]
    assert "models pull --language" in ended.out
    assert "rows 0-12" in ended.out
    assert "We shipped 459." in ended.out


REFUSAL = Verdict(False, "decision-9", ("MODALITY_NOT_ALLOWED",), "regorus")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TurnRefused(REFUSAL), ("Policy refused", "MODALITY_NOT_ALLOWED", "decision-9")),
        (UnknownCaller("no credentials"), ("does not know you", "--api-key")),
        (BadMedia("image 1: PNG ends in its header"), ("PNG ends in its header", "replace that input")),
        (TooLarge("intake.image.max_pixels", 10, 20), ("intake.image.max_pixels", "send less")),
        (TooMany("flow.max_turns", 4, 2.0), ("flow.max_turns", "try again in 2.0 s")),
        (UnknownModel("no model gpt"), ("gpt", "--model")),
        (Draining("the server is draining"), ("draining", "try again in 1 s")),
        (RuntimeError("secret detail"), ("The server failed", TURN_ID)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
async def test_a_failed_turn_is_one_sentence(serve: Serve, error: Exception, words: Sequence[str]) -> None:
    """It names the fault and what to do; the exit code says that the command itself was right."""
    ended = await command("ask", "hi", "--target", await serve(ScriptedTurns((error,))))
    assert ended.code == 1
    assert len(ended.error.splitlines()) == 1
    for word in words:
        assert word in ended.error


async def test_a_server_that_goes_away_is_not_one_that_never_was() -> None:
    """Whoever has read half an answer knows that a server was there."""
    server = grpc.aio.server()
    add_TurnServiceServicer_to_server(ScriptedTurns((EVENTS[0], Delta("We", (1,)), asyncio.Event())), server)
    target = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    process = await start_command(("ask", "hi", "--json", "--target", target))
    assert process.stdout is not None
    while b"delta" not in await process.stdout.readline():
        assert process.returncode is None
    await server.stop(0)
    _, error = await process.communicate()
    assert (process.returncode, error.decode()) == (1, f"The connection to {target} broke off; try again.\n")


async def test_ctrl_c_cancels_the_turn(serve: Serve) -> None:
    """The engine must not go on for somebody who has left; the shell sees 130."""
    turns = ScriptedTurns((Accepted(TURN_ID, "m", JUDGEMENT), Delta("We", (1,)), asyncio.Event()))
    process = await start_command(("ask", "hi", "--target", await serve(turns)))
    assert process.stdout is not None
    while b"We" not in await process.stdout.readline():
        if turns.started.is_set():
            break
    process.send_signal(signal.SIGINT)
    _, error = await process.communicate()
    assert (process.returncode, len(error.splitlines())) == (130, 1)
    assert b"cancelled" in error
    async with asyncio.timeout(5):
        await turns.cancelled.wait()


async def test_a_reader_that_leaves_is_no_error(serve: Serve) -> None:
    """`headworks ask ... | head -1` ends without a word on standard error."""
    turns = ScriptedTurns((*EVENTS[:1], *(Delta("word " * 4000, (1,)) for _ in range(40)), FINISHED))
    process = await start_command(("ask", "hi", "--target", await serve(turns)))
    assert process.stdout is not None
    await process.stdout.readline()
    process.stdout._transport.close()  # type: ignore[attr-defined]  # close our end of the pipe
    assert process.stderr is not None
    assert await process.stderr.read() == b""
    assert await process.wait() in (0, 1)


async def test_ask_tries_again_when_it_is_told_to(serve: Serve) -> None:
    """The server says when there is room; the user says how often to try."""
    full = TooMany("flow.max_turns", 64, 0.05)
    refused = await command("ask", "hi", "--target", await serve(ScriptedTurns((full,), later=EVENTS)))
    assert refused.code == 1
    target = await serve(ScriptedTurns((full,), later=EVENTS))
    ended = await command("ask", "hi", "--target", target, "--retries", "2")
    assert (ended.code, ended.error) == (0, "")
    assert "Refused (flow.max_turns); trying again in 0.1 s" in ended.out
    assert "We shipped 459." in ended.out


async def test_a_stream_is_not_sent_twice() -> None:
    """Standard input is gone after the first try; that is said before anything is sent."""
    process = await start_command(("ask", "--table", "-", "--retries", "1"), stdin=asyncio.subprocess.PIPE)
    _, error = await process.communicate(b"a,b\n1,2\n")
    assert process.returncode == 2
    assert b"--retries cannot send it again" in error
