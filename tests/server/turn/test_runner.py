"""The turn itself, without gRPC: who holds a permit, what is recorded of every outcome, and what time does."""

import asyncio

import pytest

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.finding import Heard
from headworks.intake.span import Modality
from headworks.intake.voice.encoding import AudioEncoding, VoiceForm
from headworks.policy.errors import JudgeUnavailable, NoVerdict
from headworks.policy.question import Stage
from headworks.policy.verdict import Obligations
from headworks.server.engine.errors import EngineBroken
from headworks.server.flow.errors import TooMany
from headworks.server.flow.settings import FlowSettings
from headworks.server.turn.errors import BadRequest, OutOfOrder, TurnRefused, TurnTimedOut
from headworks.server.turn.record import Outcome
from headworks.server.turn.settings import AnswerSettings, InputSettings, TurnSettings
from headworks.server.turn.steps import Accepted, Chunk, Delta, EndOfInput, Finished, Found, Setup
from tests.fakes.engines import FailingEngine, TalkingEngine
from tests.fakes.judges import AllowingJudge, BrokenJudge, DenyingJudge, SilentJudge
from tests.server.turn.turns import Turns, kept_open, passes, sent, speech, words

STREAM = Setup(voice=VoiceForm(AudioEncoding.LINEAR16, 16_000, has_partials=True))


async def test_events_come_in_the_order_of_the_turn() -> None:
    """Accepted first, what was found while it is read, the answer, the end; the books agree with the engine."""
    turns = Turns()
    await turns.converse(sent(Setup(), words("Hello."), EndOfInput()))
    kinds = [type(event) for event in turns.events]
    assert (kinds[:2], kinds[-1]) == ([Accepted, Found], Finished)
    assert set(kinds[2:-1]) == {Delta}
    record = turns.watcher.finished[0]
    assert (record.outcome, record.refusal) == (Outcome.FINISHED, None)
    assert (turns.admission.held, len(turns.admission.lobby)) == (0, 0)
    assert (record.input_tokens, record.output_tokens) == (len(turns.engine.prompts[0]), 4)  # type: ignore[attr-defined]
    totals = turns.meter.totals("local")
    assert (totals.input_tokens, totals.output_tokens) == (record.input_tokens, record.output_tokens)


@pytest.mark.parametrize("said", [(), (Setup(),)], ids=["nothing", "only its setup"])
async def test_a_call_without_input_holds_no_permit(said: tuple[Setup, ...]) -> None:
    """Sixty-four silent callers would hold everybody else for ten seconds."""
    turns = Turns()
    silent = asyncio.create_task(turns.converse(kept_open(*said)))
    await passes(lambda: len(turns.events) == len(said) and len(turns.admission.lobby))
    assert (turns.admission.held, len(turns.admission.lobby)) == (0, 1)
    silent.cancel()
    await asyncio.wait([silent])
    assert len(turns.admission.lobby) == 0


async def test_the_permit_is_taken_at_the_first_chunk() -> None:
    """There is work from then on."""
    turns = Turns()
    running = asyncio.create_task(turns.converse(kept_open(Setup(), words("Hel", is_last=False))))
    await passes(lambda: turns.admission.held)
    assert len(turns.admission.lobby) == 0
    running.cancel()
    await asyncio.wait([running])
    assert turns.admission.held == 0


@pytest.mark.parametrize(("seconds", "limit", "said"), [(10, "setup_seconds", ()), (30, "idle_seconds", (Setup(),))])
async def test_a_silent_call_ends_by_name(seconds: float, limit: str, said: tuple[Setup, ...]) -> None:
    """The clock governs every limit in time, so none of them needs a test to wait."""
    turns = Turns()
    silent = asyncio.create_task(turns.converse(kept_open(*said)))
    await passes(lambda: len(turns.events) == len(said) and len(turns.admission.lobby))
    turns.clock.turn(seconds)
    with pytest.raises(TurnTimedOut, match=limit):
        await silent
    assert turns.watcher.finished[0].outcome is Outcome.FAILED


async def test_a_stalled_engine_and_a_long_turn_end_by_name() -> None:
    """The time limits of answer and turn are the clock's too (tensorzero#6328)."""
    for settings, seconds, limit in (
        (TurnSettings(answer=AnswerSettings(stall_seconds=60)), 60, "turn.answer.stall_seconds"),
        (TurnSettings(max_seconds=50), 50, "turn.max_seconds"),
    ):
        engine = TalkingEngine()
        engine.may_talk.clear()
        turns = Turns(engine=engine, settings=settings)
        running = asyncio.create_task(turns.converse(sent(Setup(), words("Hello."), EndOfInput())))
        await passes(lambda engine=engine: engine.prompts and engine.prompts[-1])  # type: ignore[misc]
        for _ in range(20):
            await asyncio.sleep(0)
        turns.clock.turn(seconds)
        with pytest.raises(TurnTimedOut, match=limit):
            await running
        record = turns.watcher.finished[0]
        assert record.input_tokens == len(engine.prompts[0])
        assert turns.meter.totals("local").input_tokens == record.input_tokens


@pytest.mark.parametrize(
    ("deadline", "turned", "limit"),
    [
        (None, 24.0, "turn.input.idle_seconds"),
        (20.0, 19.0, "deadline"),
        (2.0, 1.5, "deadline"),
        (None, 24.5, "turn.max_seconds"),
    ],
    ids=["no step for too long", "a deadline", "a short deadline", "the server's own limit"],
)
async def test_what_was_heard_is_final_when_time_ends_the_turn(
    deadline: float | None, turned: float, limit: str
) -> None:
    """Speech that stops without silence or an end would otherwise be lost with the call."""
    turns = Turns(
        settings=TurnSettings(max_seconds=25.5, input=InputSettings(idle_seconds=24 if "idle" in limit else 30))
    )
    speaking = asyncio.create_task(turns.converse(kept_open(STREAM, speech("he"), speech("llo")), deadline))
    await passes(lambda: len(turns.events) == 3)
    turns.clock.turn(turned)
    with pytest.raises(TurnTimedOut, match=limit):
        await speaking
    last = turns.events[-1]
    assert isinstance(last, Found)
    assert isinstance(last.finding, Heard)
    assert (last.finding.transcript, last.finding.is_final) == ("hello", True)
    assert turns.admission.held == 0


async def test_a_cut_part_does_not_hide_that_time_ran_out() -> None:
    """The sender was slow; that its table is not whole is only what follows from it."""
    turns = Turns()
    sending = asyncio.create_task(turns.converse(kept_open(Setup(), Chunk(Modality.IMAGE, b"x", is_last=False))))
    await passes(lambda: turns.admission.held)
    turns.clock.turn(30)
    with pytest.raises(TurnTimedOut, match="idle_seconds"):
        await sending


async def test_a_cut_table_does_not_take_the_last_words_along() -> None:
    """Both parts are open when time runs out; what is wrong with one must not end the other."""
    turns = Turns()
    steps = (STREAM, Chunk(Modality.IMAGE, b"half a picture", is_last=False), speech("hello"))
    speaking = asyncio.create_task(turns.converse(kept_open(*steps)))
    await passes(lambda: len(turns.events) >= 2)
    turns.clock.turn(30)
    with pytest.raises(TurnTimedOut):
        await speaking
    heard = [event.finding for event in turns.events if isinstance(event, Found) and isinstance(event.finding, Heard)]
    assert [finding.transcript for finding in heard if finding.is_final] == ["hello"]


@pytest.mark.parametrize("text", ["a" * 2000, "a " * 60], ids=["one word", "many words"])
async def test_the_whole_prompt_is_held_to_the_ceiling_of_policy(text: str) -> None:
    """A word is tokens only when it ends, and the template goes on after it."""
    turns = Turns(judge=AllowingJudge(Obligations(max_input_tokens=60)))
    with pytest.raises(TooLarge, match=r"obligations\.max_input_tokens"):
        await turns.converse(sent(Setup(), words(text), EndOfInput()))
    assert all(len(prompt) <= 60 for prompt in turns.engine.prompts)  # type: ignore[attr-defined]


async def test_the_bytes_of_a_kind_are_held_to_the_ceiling_of_policy_as_they_come() -> None:
    """The part need not end first, and other kinds do not count (bytes of all parts together do)."""
    held = Obligations(modalities=("image", "text"), max_bytes=(("image", 9), ("text", 5)))
    turns = Turns(judge=AllowingJudge(held))
    steps = (Setup(), words("12"), words("345"), Chunk(Modality.IMAGE, b"123456", is_last=False), words("6"))
    with pytest.raises(TooLarge, match=r"obligations\.max_bytes allows 5, the input has 6"):
        await turns.converse(kept_open(*steps))
    assert turns.admission.held == 0


async def test_a_turn_that_ends_in_line_or_before_its_judge_has_its_times() -> None:
    """Where a turn's time went is asked most of those that did not finish."""
    turns = Turns(flow=FlowSettings(max_turns=1))
    running = asyncio.create_task(turns.converse(kept_open(Setup(), words("a", is_last=False))))
    await passes(lambda: turns.admission.held)
    waiting = asyncio.create_task(turns.converse(sent(Setup(), words("a"), EndOfInput())))
    await passes(lambda: turns.admission.waiting)
    turns.clock.turn(5)
    with pytest.raises(TooMany):
        await waiting
    assert turns.watcher.finished[0].timings.queue == 5
    running.cancel()
    await asyncio.wait([running])
    judge = SilentJudge()
    unjudged = Turns(judge=judge)
    asking = asyncio.create_task(unjudged.converse(sent(Setup(), words("a"), EndOfInput())))
    await judge.asked.wait()
    unjudged.clock.turn(4)
    asking.cancel()
    await asyncio.wait([asking])
    timings = unjudged.watcher.finished[0].timings
    assert (timings.accept, timings.policy) == (4, 4)


async def test_a_kind_that_is_not_allowed_waits_for_no_permit() -> None:
    """It is refused whatever comes, so it need not stand in line."""
    turns = Turns(judge=AllowingJudge(Obligations(modalities=("text",))), flow=FlowSettings(max_turns=1))
    running = asyncio.create_task(turns.converse(kept_open(Setup(), words("a", is_last=False))))
    await passes(lambda: turns.admission.held)
    with pytest.raises(TurnRefused):
        await turns.converse(sent(Setup(), Chunk(Modality.TABLE, b"", is_last=True)))
    running.cancel()
    await asyncio.wait([running])


async def test_text_may_arrive_until_a_short_deadline() -> None:
    """Only speech is cut before the deadline: the words of a text that is cut short mean something else."""
    turns = Turns()
    await turns.converse(sent(Setup(), words("Hello.", is_last=False), words("", is_last=True)), 0.5)
    assert isinstance(turns.events[-1], Finished)


async def test_a_kind_of_input_that_is_not_allowed_is_a_decision_of_its_own() -> None:
    """The id of an allow would lead whoever looks it up to the wrong decision; sinks hear of it as of policy's."""
    turns = Turns(judge=AllowingJudge(Obligations(modalities=("text",))))
    with pytest.raises(TurnRefused) as refusal:
        await turns.converse(sent(Setup(), Chunk(Modality.TABLE, b"a\n1\n", is_last=True)))
    verdict, record = refusal.value.verdict, turns.watcher.finished[0]
    allowed = next(event for event in turns.events if isinstance(event, Accepted)).judgement.verdict
    assert verdict.decision_id != allowed.decision_id
    assert record.refusal is not None
    assert (record.refusal.decision_id, record.refusal.reasons) == (verdict.decision_id, ("MODALITY_NOT_ALLOWED",))
    assert turns.watcher.verdicts == [(Stage.OPEN, True), (Stage.INPUT, False)]
    assert record.outcome is Outcome.REFUSED


async def test_the_record_of_a_refused_turn_says_why_and_how_long_it_took() -> None:
    """A refusal is what operators look for."""
    turns = Turns(judge=DenyingJudge(Stage.INPUT, "NOT_TODAY"))
    with pytest.raises(TurnRefused) as refusal:
        await turns.converse(sent(Setup(), words("Hello."), EndOfInput()))
    record = turns.watcher.finished[0]
    assert record.refusal is not None
    assert record.refusal.decision_id == refusal.value.verdict.decision_id
    assert (record.modalities, record.input_tokens) == (("text",), 0)


async def test_the_record_of_a_turn_without_a_verdict_has_the_reason() -> None:
    """No answer is a refusal too."""
    turns = Turns(judge=BrokenJudge(NoVerdict.SLOW))
    with pytest.raises(JudgeUnavailable) as refusal:
        await turns.converse(sent(Setup(), words("Hello."), EndOfInput()))
    record = turns.watcher.finished[0]
    assert record.refusal is not None
    assert record.refusal.decision_id == refusal.value.decision_id
    assert (record.outcome, record.refusal.reasons) == (Outcome.REFUSED, (NoVerdict.SLOW.value,))


async def test_the_record_of_a_failed_turn_has_its_tokens_and_times() -> None:
    """What was computed is paid for, whatever came of it (litellm#14457)."""
    turns = Turns(engine=FailingEngine(is_after_token=True))
    with pytest.raises(EngineBroken):
        await turns.converse(sent(Setup(), words("Hello."), EndOfInput()))
    record = turns.watcher.finished[0]
    assert (record.outcome, record.error, record.output_tokens) == (Outcome.FAILED, "EngineBroken", 1)
    assert turns.meter.totals("local").output_tokens == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"max_output_tokens": -5},
        {"temperature": 50.0},
        {"temperature": 1e300},
        {"temperature": float("nan")},
        {"top_p": 0.0},
        {"top_p": float("nan")},
        {"purpose": "x" * 3000},
        {"purpose": "\ud800" * 30},
        {"seed": 2**63},
        {"voice": VoiceForm(AudioEncoding.LINEAR16, 10)},
        {"voice": VoiceForm(AudioEncoding.CONTAINER, 16_000)},
    ],
    ids=str,
)
def test_a_setup_out_of_range_cannot_be_made(fields: dict[str, object]) -> None:
    """Every door has the same ranges, because the setup checks itself."""
    with pytest.raises(BadRequest, match=r"^setup\."):
        Setup(**fields)  # type: ignore[arg-type]  # the fields are given by name


@pytest.mark.parametrize(
    ("steps", "error"),
    [
        ((), OutOfOrder),
        ((words("Hello."),), OutOfOrder),
        ((Setup(), Setup()), OutOfOrder),
        ((Setup(),), BadMedia),
        ((Setup(), EndOfInput()), BadMedia),
        ((Setup(), words("Hel", is_last=False), Chunk(Modality.TABLE, b"", is_last=True)), OutOfOrder),
        ((Setup(), *(words("x") for _ in range(40))), TooLarge),
    ],
    ids=["nothing", "no setup", "two setups", "no input", "an empty end", "a part in a part", "too many parts"],
)
async def test_wrong_steps_are_named_and_leave_nothing(
    steps: tuple[Setup | Chunk | EndOfInput, ...], error: type[Exception]
) -> None:
    """Whatever the order, the turn ends in a listed error, and permit, lobby and engine are free again."""
    turns = Turns()
    with pytest.raises(error):
        await turns.converse(sent(*steps))
    assert (turns.admission.held, turns.admission.waiting, len(turns.admission.lobby)) == (0, 0, 0)
    assert turns.engine.load().running == 0
    assert [record.error for record in turns.watcher.finished] == [error.__name__]
