"""Under overload: who waits, who is refused at once, and when the refused should come back."""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from headworks.server.engine.engine import EngineLoad
from headworks.server.flow.admission import Admission
from headworks.server.flow.claim import Claim
from headworks.server.flow.errors import TooLate, TooMany
from headworks.server.flow.fairness.orders import order_of
from headworks.server.flow.fairness.settings import FairnessSettings
from headworks.server.flow.forecast import Forecast
from headworks.server.flow.line import Line
from headworks.server.flow.lobby import SilentCall
from headworks.server.flow.service_class import ServiceClass
from headworks.server.flow.settings import ClassSettings, FlowSettings, LimitSettings, LineSettings
from tests.fakes.clocks import HandClock
from tests.fakes.loads import no_load

ANSWER_SECONDS = 1.0


async def passes() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


class Flow:
    """An admission on a hand clock, and the turns that it let in."""

    def __init__(self, turns: int = 2, load: Callable[[], EngineLoad] = no_load, **settings: object) -> None:
        self.clock = HandClock()
        limit = LimitSettings(least_turns=1, first_turns=turns)
        flow = FlowSettings(max_turns=turns, limit=limit, newcomer_share=0.0, **settings)  # type: ignore[arg-type]
        self.admission = Admission(flow, self.clock, load)
        self.turns = turns
        self.began: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.leave = asyncio.Event()

    def claim(self, name: str = "a", **fields: object) -> Claim:
        fields = {"tenant": name, "joined_at": self.clock.now(), **fields}
        return Claim(**fields)  # type: ignore[arg-type]

    async def turn(self, claim: Claim) -> None:
        async with self.admission.grant(claim) as grant:
            self.began.append(claim.tenant)
            await self.leave.wait()
            grant.answered(1, is_last=True)

    def start(self, claim: Claim) -> "asyncio.Task[None]":
        self.tasks.append(asyncio.create_task(self.turn(claim)))
        return self.tasks[-1]

    async def let_go(self) -> None:
        """End those that run now."""
        leave, self.leave = self.leave, asyncio.Event()
        leave.set()
        await passes()

    async def learn(self) -> None:
        """Let it see how long turns run."""
        for _ in range(self.turns):
            self.start(self.claim("seen"))
        await passes()
        self.clock.turn(ANSWER_SECONDS)
        await self.let_go()
        self.began.clear()

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        assert (self.admission.held, self.admission.waiting) == (0, 0)


async def test_what_cannot_start_before_its_deadline_is_refused_at_once() -> None:
    """Expired work is never begun, and its caller need not wait to learn so (tensorflow/serving#1265)."""
    flow = Flow()
    await flow.learn()
    for _ in range(2):
        flow.start(flow.claim())
    await passes()
    near = flow.clock.now() + ANSWER_SECONDS / 4
    with pytest.raises(TooLate) as refusal:
        await flow.turn(flow.claim(deadline=near))
    assert refusal.value.retry_after_seconds > 0
    assert flow.admission.refused == {"deadline": 1}
    assert flow.admission.waiting == 0
    await flow.end()


async def test_a_turn_whose_deadline_has_come_close_in_line_is_not_begun() -> None:
    """It would die just after it got its permit, and its tokens with it."""
    flow = Flow(turns=1, line=LineSettings(interactive_seconds=100.0))
    flow.admission.limit.first_tokens.mean_seconds = 2.0
    flow.start(flow.claim("running"))
    await passes()
    late = flow.start(flow.claim("late", deadline=3.0))
    flow.start(flow.claim("next"))
    await passes()
    flow.clock.turn(2.0)
    await flow.let_go()
    assert flow.began == ["running", "next"]
    assert isinstance(late.exception(), TooLate)
    await flow.end()


async def standing(waiting: int, standing_turns: int) -> Flow:
    """Let so many wait behind one turn for so long that the line stands; turns of a second, half a second to wait."""
    line = LineSettings(
        interactive_seconds=60.0, standing_seconds=0.5, standing_turns=standing_turns, standing_after_seconds=1.0
    )
    flow = Flow(turns=1, line=line)
    await flow.learn()
    for _ in range(1 + waiting):
        flow.start(flow.claim())
    await passes()
    assert (flow.admission.held, flow.admission.waiting) == (1, waiting)
    flow.clock.turn(2.0)
    return flow


async def test_a_standing_line_is_short() -> None:
    """A line that never empties makes everybody late; a burst may wait, a crowd is told to come back."""
    flow = await standing(waiting=2, standing_turns=0)
    with pytest.raises(TooMany, match=r"flow\.line\.interactive_seconds"):
        await flow.turn(flow.claim())
    with pytest.raises(TooMany):
        flow.admission.knock(flow.claim())
    await flow.end()


async def test_a_standing_line_holds_some_turns_however_long_they_are() -> None:
    """Where a place becomes free each second, nobody could wait for it in half a second, and no order would decide."""
    flow = await standing(waiting=1, standing_turns=2)
    flow.start(flow.claim())
    await passes()
    assert flow.admission.waiting == 2
    with pytest.raises(TooMany, match=r"flow\.line\.interactive_seconds"):
        await flow.turn(flow.claim())
    await flow.end()


async def test_a_line_goes_on_standing_while_callers_are_refused() -> None:
    """Else the next burst is let in as soon as the line was short, and everybody is late again."""
    orders = {kind: order_of(FairnessSettings()) for kind in ServiceClass}
    line = Line(orders, LineSettings(standing_after_seconds=1.0), ClassSettings())
    claim = Claim(tenant="a", joined_at=0.0)
    line.join(claim)
    assert line.is_standing(1.5)
    line.leave(claim)
    for now in (3.0, 4.5, 6.0):
        assert line.is_standing(now)
        line.refused(now)
    assert not line.is_standing(8.5)
    line.refused(8.5)
    assert not line.is_standing(8.5)


def test_a_burst_that_makes_turns_long_makes_nobody_wait_for_longer() -> None:
    """The times follow each other as fast as turns were served before it; the load may be gone in a moment."""
    forecast = Forecast(max_retry_seconds=30.0, draw=lambda: 0.0)
    forecast.look(0.0)
    for _ in range(100):
        forecast.ended(0.1, 10)
    forecast.look(1.0)
    for _ in range(100):
        forecast.ended(2.0, 10)
    times = [forecast.retry_seconds(now=2.0, room_in_seconds=0.0, at_once=1) for _ in range(150)]
    assert times[-1] == pytest.approx(1.0, abs=0.05)


def test_the_turns_that_are_needed_are_the_best_rate_times_the_best_run() -> None:
    """By Little's law; a process that refusals make late is not helped by fewer turns than that."""
    forecast = Forecast(max_retry_seconds=30.0)
    forecast.look(0.0)
    for _ in range(100):
        forecast.ended(0.2, 10)
    forecast.look(1.0)
    assert 10 <= forecast.needed_turns <= 20


async def test_the_refused_are_told_times_that_follow_each_other() -> None:
    """They must not come back as one wave, nor sooner than they can be served."""
    forecast = Forecast(max_retry_seconds=30.0, draw=lambda: 0.0)
    forecast.ended(1.0, 10)
    times = [forecast.retry_seconds(now=0.0, room_in_seconds=0.2, at_once=10) for _ in range(30)]
    assert times == sorted(times)
    assert len(set(times)) == len(times)
    per_second = sum(1.0 <= time < 2.0 for time in times)
    assert 10 <= per_second <= 15
    assert all(forecast.retry_seconds(0.0, 0.2, 10) <= 30.0 for _ in range(10_000))


async def test_one_tenant_cannot_fill_the_line() -> None:
    """The place that is left is another tenant's (litellm#27381)."""
    flow = Flow(turns=1, line=LineSettings(max_waiting=8, interactive_seconds=600.0))
    for _ in range(10):
        flow.start(flow.claim("many"))
    await passes()
    assert flow.admission.waiting == 4
    flow.start(flow.claim("one"))
    await passes()
    assert flow.admission.waiting == 5
    await flow.let_go()
    assert flow.began[-1] == "one"
    await flow.end()


async def test_batch_turns_have_their_floor_and_leave_interactive_ones_theirs() -> None:
    """Strict priority starves the low class (gateway-api-inference-extension#1861)."""
    classes = ClassSettings(interactive_floor=0.25, batch_floor=0.25)
    flow = Flow(turns=4, classes=classes, line=LineSettings(max_waiting=100, interactive_seconds=600.0))
    for _ in range(6):
        flow.start(flow.claim("batch", service_class=ServiceClass.BATCH))
    await passes()
    assert flow.began == ["batch"] * 3
    for _ in range(12):
        flow.start(flow.claim("urgent"))
    await passes()
    assert flow.began == ["batch"] * 3 + ["urgent"]
    flow.began.clear()
    await flow.let_go()
    assert sorted(flow.began) == ["batch"] + ["urgent"] * 3
    await flow.end()


async def test_floors_come_back_with_the_capacity() -> None:
    """From four turns to one and back to four; what was kept for each class is kept again (smg PR#1587, PR#1997)."""
    classes, line = ClassSettings(interactive_floor=0.25, batch_floor=0.25), LineSettings(interactive_seconds=600.0)
    queued = 0
    flow = Flow(turns=4, classes=classes, line=line, load=lambda: EngineLoad(0, queued, 0.0))
    for name, service_class in (("batch", ServiceClass.BATCH), ("urgent", ServiceClass.INTERACTIVE)):
        for _ in range(20):
            flow.start(flow.claim(name, service_class=service_class))
        await passes()
    four, one = {(1, 3)}, {(0, 1), (1, 0)}
    for queued, turns, shares in ((0, 4, four), (100, 1, one), (0, 4, four)):  # noqa: B007  # the load reads it
        for _ in range(40):
            flow.admission.look()
        assert flow.admission.limit.turns == turns
        await flow.let_go()
        flow.began.clear()
        await flow.let_go()
        began = Counter(flow.began)
        assert (began["batch"], began["urgent"]) in shares
        assert flow.admission.held == turns
    await flow.end()


async def test_after_a_preemption_a_newcomer_does_not_take_the_place_that_was_lost() -> None:
    """The engine computes the turn again, and nobody is let in who would push it out once more (vllm#41951)."""
    load = EngineLoad(running=0, waiting=0, cache_used=0.0, cache_tokens=1000)
    flow = Flow(turns=10, load=lambda: load, line=LineSettings(interactive_seconds=600.0))
    flow.start(flow.claim("preempted", tokens=600))
    other = flow.start(flow.claim("other", tokens=600))
    await passes()
    load = replace(load, preemptions=1)
    flow.admission.look()
    flow.start(flow.claim("newcomer", tokens=600))
    other.cancel()
    for _ in range(10):
        flow.start(flow.claim("small", tokens=1))
    await passes()
    assert flow.began == ["preempted", "other"]
    await flow.let_go()
    assert flow.began[2] == "newcomer"
    await flow.let_go()
    assert Counter(flow.began)["small"] == 10
    await flow.end()


async def test_a_tenant_below_its_share_need_not_wait_for_the_others() -> None:
    """A light tenant beside a heavy one is served as if it were nearly alone."""
    clock = HandClock()
    settings = FlowSettings(limit=LimitSettings(first_turns=8), newcomer_share=0.25)
    admission = Admission(settings, clock, no_load)
    async with AsyncExitStack() as held:
        for _ in range(8):
            await held.enter_async_context(admission.grant(Claim(tenant="heavy")))
        waiting = asyncio.create_task(held.enter_async_context(admission.grant(Claim(tenant="heavy"))))
        await passes()
        assert admission.waiting == 1
        await held.enter_async_context(admission.grant(Claim(tenant="light")))
        assert admission.held == 9
        waiting.cancel()
        await asyncio.wait((waiting,))


async def test_kept_places_are_not_for_a_tenant_that_queues() -> None:
    """It would run as many turns as those whose turns are small, and the order could not make tokens equal."""
    settings = FlowSettings(limit=LimitSettings(first_turns=8), newcomer_share=0.125)
    admission = Admission(settings, HandClock(), no_load)
    async with AsyncExitStack() as held:
        for _ in range(8):
            await held.enter_async_context(admission.grant(Claim(tenant="heavy")))
        async with AsyncExitStack() as kept:
            await kept.enter_async_context(admission.grant(Claim(tenant="large")))
            grants = [admission.grant(Claim(tenant="large")) for _ in range(2)]
            queued = [asyncio.create_task(held.enter_async_context(grant)) for grant in grants]
            await passes()
        await passes()
        assert (admission.held, admission.waiting) == (8, 2)
        await held.enter_async_context(admission.grant(Claim(tenant="light")))
        assert (admission.held, admission.waiting) == (9, 2)
        for task in queued:
            task.cancel()
        await asyncio.wait(queued)


async def test_a_tenant_below_its_share_is_not_refused_for_the_line_of_another() -> None:
    """A heavy tenant's standing line said no for the light one too, before anybody looked at the places kept for it."""
    clock = HandClock()
    line = LineSettings(standing_seconds=0.01, standing_turns=0)
    admission = Admission(FlowSettings(limit=LimitSettings(first_turns=8), line=line), clock, no_load)
    async with admission.grant(Claim(tenant="heavy")) as seen:
        clock.turn(ANSWER_SECONDS)
        seen.answered(1, is_last=True)
    async with AsyncExitStack() as held:
        for _ in range(8):
            await held.enter_async_context(admission.grant(Claim(tenant="heavy")))
        heavy = Claim(tenant="heavy", joined_at=clock.now())
        waiting = asyncio.create_task(held.enter_async_context(admission.grant(heavy)))
        await passes()
        clock.turn(2 * line.standing_after_seconds)
        for step in (admission.knock, lambda claim: admission.expect(claim, SilentCall(claim.tenant, ""))):
            with pytest.raises(TooMany):
                step(Claim(tenant="heavy"))
            step(Claim(tenant="light"))
        waiting.cancel()
        await asyncio.wait((waiting,))


async def test_a_turn_that_lacks_tokens_is_not_overtaken_by_those_who_need_fewer() -> None:
    """Else a turn with a long answer would wait for ever."""
    flow = Flow(turns=10, line=LineSettings(interactive_seconds=600.0))
    flow.admission.limit._tokens_ceiling().value = 100
    flow.start(flow.claim("first", tokens=90))
    await passes()
    flow.start(flow.claim("long", tokens=60))
    flow.start(flow.claim("short", tokens=20))
    await passes()
    assert flow.began == ["first"]
    await flow.let_go()
    assert flow.began == ["first", "long", "short"]
    await flow.end()


async def test_who_comes_later_and_needs_fewer_tokens_waits_behind_a_turn_that_lacks_them() -> None:
    """Else turns of a few tokens that keep coming would keep a long one out for ever (vllm#41951)."""
    flow = Flow(turns=10, line=LineSettings(interactive_seconds=600.0))
    flow.admission.limit._tokens_ceiling().value = 100
    first = flow.start(flow.claim("first", tokens=90))
    await passes()
    long = flow.start(flow.claim("long", tokens=60))
    flow.start(flow.claim("short", tokens=5))
    await passes()
    assert (flow.began, flow.admission.waiting) == (["first"], 2)
    long.cancel()
    await passes()
    flow.admission.look()
    await passes()
    assert flow.began == ["first", "short"]
    first.cancel()
    flow.start(flow.claim("last", tokens=90))
    await passes()
    assert flow.began == ["first", "short", "last"]
    await flow.end()
