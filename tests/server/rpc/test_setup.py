"""What a caller may ask for in setup, and that it reaches the engine and policy as it was asked."""

import pytest

from headworks.policy.question import Stage
from headworks.policy.verdict import Obligations
from headworks.server.engine.engine import Sampling
from headworks.server.turn.record import Outcome
from headworks.server.turn.settings import AnswerSettings, TurnSettings
from headworks.v1 import turn_pb2 as pb
from tests.fakes.judges import AllowingJudge
from tests.server.edge import END, Edge, setup, table, text
from tests.server.rpc.watching import next_event, settled, watched


async def answered(server: Edge, **fields: object) -> None:
    await next_event(server.stub.Converse(iter([setup(**fields), text("Hello."), END])), "finished")


async def test_sampling_reaches_the_engine_as_it_was_asked() -> None:
    """Greedy without a word on it; a seed of 0 is a seed, and none is none."""
    asked = pb.Generation(max_output_tokens=7, temperature=0.5, top_p=0.25, seed=0)
    async with watched() as server:
        await answered(server)
        await answered(server, generation=asked)
        plain, chosen = (request.sampling for request in server.engine.requests)
    assert plain == Sampling(max_output_tokens=256, temperature=0.0, top_p=1.0, seed=None)
    assert chosen == Sampling(max_output_tokens=7, temperature=0.5, top_p=0.25, seed=0)


@pytest.mark.parametrize(
    "fields",
    [
        {"generation": pb.Generation(temperature=2, top_p=1)},
        {"purpose": "é" * 32},
        {"instructions": "é" * 2048},
        {"generation": pb.Generation(max_output_tokens=2048)},
        {"voice": pb.VoiceSetup(encoding=pb.AUDIO_ENCODING_CONTAINER)},
        {"voice": pb.VoiceSetup(encoding=pb.AUDIO_ENCODING_LINEAR16, sample_rate_hertz=8_000)},
        {"voice": pb.VoiceSetup(encoding=pb.AUDIO_ENCODING_LINEAR16, sample_rate_hertz=192_000)},
        {"model": "talking"},
    ],
    ids=lambda fields: next(iter(fields)),
)
async def test_the_last_value_that_is_allowed_is_taken(fields: dict[str, object]) -> None:
    """A limit is what it says it is, to the byte."""
    async with watched() as server:
        await answered(server, **fields)


async def test_instructions_are_in_the_prompt() -> None:
    """They change what the model reads, and nothing else does."""
    async with watched() as server:
        for words in ("", "Be brief.", ""):
            await answered(server, instructions=words)
        plain, told, again = server.engine.prompts
    assert plain == again
    assert len(told) > len(plain)


async def test_policy_is_asked_with_what_setup_said() -> None:
    """Purpose and ceiling at both stages, sizes and tokens at the second, the id of the turn at each."""
    judge = AllowingJudge()
    async with watched(None, judge) as server:
        await answered(server, purpose="reporting", generation=pb.Generation(max_output_tokens=7))
        opened, admitted = judge.questions
        assert (opened.stage, admitted.stage) == (Stage.OPEN, Stage.INPUT)
        for asked in judge.questions:
            assert (asked.purpose, asked.max_output_tokens, asked.model) == ("reporting", 7, "talking")
            assert asked.turn_id == server.recorder.started[0].turn_id
        assert opened.input.tokens == 0
        assert admitted.input.bytes_by_modality == (("text", 6),)
        assert 0 < admitted.input.tokens <= len(server.engine.prompts[0])


async def test_the_default_ceiling_is_asked_for_and_policys_is_kept() -> None:
    """The lower one of what is asked and what is allowed."""
    judge = AllowingJudge(Obligations(max_output_tokens=3))
    settings = TurnSettings(answer=AnswerSettings(default_output_tokens=5))
    async with watched(None, judge, settings=settings) as server:
        await answered(server)
        await answered(server, generation=pb.Generation(max_output_tokens=2))
        ceilings = [request.sampling.max_output_tokens for request in server.engine.requests]
    assert [asked.max_output_tokens for asked in judge.questions if asked.stage is Stage.OPEN] == [5, 2]
    assert ceilings == [3, 2]


async def test_the_record_of_a_turn_has_its_kinds_and_counts() -> None:
    """What the log and the ledger are written from."""
    async with watched() as server:
        steps = [setup(), table(b"a\n1\n"), text("Hello."), END]
        await next_event(server.stub.Converse(iter(steps)), "finished")
        await settled(server)
        (record,) = server.recorder.finished
        assert (record.outcome, record.error, record.tenant) == (Outcome.FINISHED, "", "local")
        assert record.modalities == ("table", "text")
        assert (record.usage.input_tokens, record.usage.output_tokens) == (len(server.engine.prompts[0]), 4)
