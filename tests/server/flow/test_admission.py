"""Who may run, who waits, and who is told to come back."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from headworks.server.flow.admission import Admission
from headworks.server.flow.claim import Claim
from headworks.server.flow.errors import Draining, TooMany
from headworks.server.flow.settings import FlowSettings, LineSettings
from tests.fakes.clocks import HandClock
from tests.fakes.loads import no_load


def admission(clock: HandClock | None = None, *, line: LineSettings | None = None, **limits: float) -> Admission:
    settings = FlowSettings(line=line or LineSettings(), **limits)  # type: ignore[arg-type]  # all are numbers
    return Admission(settings, clock or HandClock(), no_load)


def claim(tenant: str = "a", peer: str = "p", **fields: Any) -> Claim:
    return Claim(tenant=tenant, peer=peer, **fields)


async def hold(flow: Admission, until: asyncio.Event, tenant: str = "a", peer: str = "p") -> None:
    async with flow.grant(claim(tenant, peer)):
        await until.wait()


async def stay(flow: Admission, until: asyncio.Event, tenant: str = "a", peer: str = "p") -> None:
    async with flow.lobby.stay(tenant, peer):
        await until.wait()


async def passes() -> None:
    """Let every task go as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_cancelled_turns_give_their_permits_back() -> None:
    """After twice the limit was cancelled, held and waiting ones alike, a new turn passes at once (smg PR#2064)."""
    flow = admission(max_turns=2, line=LineSettings(max_waiting=4))
    turns = [asyncio.create_task(hold(flow, asyncio.Event())) for _ in range(4)]
    await passes()
    assert (flow.held, flow.waiting) == (2, 2)
    for turn in turns:
        turn.cancel()
    await asyncio.wait(turns)
    assert (flow.held, flow.waiting) == (0, 0)
    async with asyncio.timeout(1), flow.grant(claim()):
        assert flow.held == 1


async def test_a_turn_cancelled_as_it_is_given_a_permit_passes_it_on() -> None:
    """The permit is given and the turn is cancelled within one pass of the loop; neither may lose it."""
    flow, done = admission(max_turns=1), asyncio.Event()
    first = asyncio.create_task(hold(flow, done))
    await passes()
    second, third = (asyncio.create_task(hold(flow, asyncio.Event())) for _ in range(2))
    await passes()
    done.set()
    await asyncio.sleep(0)
    second.cancel()
    await passes()
    assert (first.done(), second.cancelled(), flow.held, flow.waiting) == (True, True, 1, 0)
    third.cancel()
    await passes()
    assert flow.held == 0


async def test_full_line_refuses_by_name() -> None:
    """Memory must not grow with callers; the refusal says which limit, and when to come back."""
    flow = admission(max_turns=1, line=LineSettings(max_waiting=0))
    async with flow.grant(claim()):
        with pytest.raises(TooMany) as refusal:
            async with flow.grant(claim()):
                pass
    assert refusal.value.limit == "flow.line.max_waiting"
    assert refusal.value.retry_after_seconds > 0
    assert flow.refused == {"flow.line.max_waiting": 1}


@pytest.mark.parametrize("limit", ["max_turns", "max_tenant_turns", "max_peer_turns"])
async def test_long_wait_ends_in_a_refusal_that_names_what_was_waited_for(limit: str) -> None:
    """A caller in line hears within a bounded time."""
    clock = HandClock()
    flow = admission(clock, line=LineSettings(interactive_seconds=5), **{limit: 1})
    async with flow.grant(claim()):
        waiting = asyncio.create_task(hold(flow, asyncio.Event()))
        await passes()
        clock.turn(5)
        with pytest.raises(TooMany, match=rf"flow\.{limit}"):
            await waiting
    assert (flow.held, flow.waiting) == (0, 0)


@pytest.mark.parametrize(("limit", "same"), [("max_tenant_turns", ("a", "q")), ("max_peer_turns", ("b", "p"))])
async def test_one_tenant_or_host_cannot_keep_the_others_out(limit: str, same: tuple[str, str]) -> None:
    """Whoever holds its share waits, and those behind it in line do not wait for it."""
    flow, done = admission(max_turns=3, **{limit: 2}), asyncio.Event()
    holding = [asyncio.create_task(hold(flow, done)) for _ in range(2)]
    await passes()
    over = asyncio.create_task(hold(flow, done, *same))
    await passes()
    assert (flow.held, flow.waiting) == (2, 1)
    async with asyncio.timeout(1), flow.grant(claim("other", "elsewhere")):
        assert (flow.held, flow.waiting) == (3, 1)
    done.set()
    await asyncio.gather(*holding, over)


@pytest.mark.parametrize(
    ("limit", "new"),
    [("max_silent_calls", ("b", "q")), ("max_tenant_silent_calls", ("a", "q")), ("max_peer_silent_calls", ("b", "p"))],
)
async def test_a_silent_call_too_many_ends_the_oldest_of_who_has_most(limit: str, new: tuple[str, str]) -> None:
    """Silence costs nobody else: the call that came last gets its chance, and the limit is named to the oldest."""
    flow, never = admission(**{limit: 3}), asyncio.Event()
    silent = [asyncio.create_task(stay(flow, never)) for _ in range(3)]
    await passes()
    newest = asyncio.create_task(stay(flow, never, *new))
    await passes()
    with pytest.raises(TooMany, match=rf"flow\.{limit}"):
        await silent[0]
    assert (len(flow.lobby), [task.done() for task in (*silent[1:], newest)]) == (3, [False] * 3)
    for task in (*silent[1:], newest):
        task.cancel()
    await passes()
    assert len(flow.lobby) == 0


async def test_drain_refuses_new_turns_ends_silent_ones_and_waits_for_running_ones() -> None:
    """A live stream is finished, a new one is told to go elsewhere (smg PR#1172), a silent one delays nothing."""
    flow, done = admission(max_turns=2), asyncio.Event()
    running = asyncio.create_task(hold(flow, done))
    silent = asyncio.create_task(stay(flow, asyncio.Event()))
    await passes()
    flow.drain()
    with pytest.raises(Draining):
        await silent
    blocks: tuple[Callable[[], Awaitable[None]], ...] = (lambda: hold(flow, done), lambda: stay(flow, done))
    for block in blocks:
        with pytest.raises(Draining):
            await block()
    idle = asyncio.create_task(flow.wait_idle())
    await passes()
    assert not idle.done()
    done.set()
    await asyncio.wait_for(idle, 1)
    assert running.done()


async def test_a_permit_that_comes_back_as_a_waiter_is_cancelled_is_not_lost() -> None:
    """The waiter is still in line then, with a future that nobody may fulfil any more."""
    flow, done = admission(max_turns=1), asyncio.Event()
    first, second = (asyncio.create_task(hold(flow, done)) for _ in range(2))
    await passes()
    done.set()
    second.cancel()
    await passes()
    assert first.exception() is None
    assert (flow.held, flow.waiting) == (0, 0)


async def test_a_tenants_bound_on_silence_holds_from_every_host() -> None:
    """A host that meets its own bound must not hide that the tenant has met its."""
    flow, never = admission(max_tenant_silent_calls=2, max_peer_silent_calls=2), asyncio.Event()
    who = [("a", "q"), ("a", "q"), ("b", "p"), ("b", "p"), ("a", "p")]
    silent = [asyncio.create_task(stay(flow, never, *each)) for each in who]
    await passes()
    kept = [each for each, task in zip(who, silent, strict=True) if not task.done()]
    assert kept == [("a", "q"), ("b", "p"), ("a", "p")]
    for task in silent:
        task.cancel()
    await asyncio.wait(silent)
