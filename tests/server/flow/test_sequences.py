"""Whatever callers do, in whichever pass of the loop: shares are kept, nobody waits for nothing, nothing is left."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.server.flow.admission import Admission
from headworks.server.flow.claim import Claim
from headworks.server.flow.errors import Draining, FlowError
from headworks.server.flow.settings import FlowSettings, LineSettings
from tests.fakes.clocks import HandClock
from tests.fakes.loads import no_load

LIMITS = FlowSettings(
    max_turns=3,
    max_tenant_turns=2,
    max_peer_turns=2,
    line=LineSettings(max_waiting=8, interactive_seconds=5),
    max_silent_calls=4,
    max_tenant_silent_calls=2,
    max_peer_silent_calls=3,
)
_names = st.sampled_from([("a", "p"), ("a", "q"), ("b", "p"), ("b", "")])
_calls = st.lists(st.tuples(st.just("enter"), _names), min_size=2, max_size=5)
_ends = st.lists(st.tuples(st.sampled_from(["leave", "cancel"]), st.integers(0, 5)), min_size=1, max_size=4)
_settle = st.just([("settle", None)])
_rare = st.sampled_from([("pass", None), ("turn the clock", 1.0), ("turn the clock", 5.0), ("drain", None)])
_scenes = st.tuples(_calls, _settle, _ends, st.lists(_rare, max_size=1), _ends, st.one_of(_settle, st.just([])))
_acts = st.lists(_scenes, min_size=1, max_size=5).map(
    lambda scenes: [act for scene in scenes for acts in scene for act in acts]
)
"""What happens, in order. Between two passes of the loop all of it happens at once."""

Block = Callable[[str, str], AbstractAsyncContextManager[Any]]


@dataclass(eq=False)
class Call:
    """One caller, and where it is."""

    tenant: str
    peer: str
    may_leave: asyncio.Event = field(default_factory=asyncio.Event)
    is_inside: bool = False
    task: "asyncio.Task[None] | None" = None

    async def run(self, block: Block) -> None:
        async with block(self.tenant, self.peer):
            self.is_inside = True
            try:
                await self.may_leave.wait()
            finally:
                self.is_inside = False


class Play:
    """Does what was drawn to one block of an `Admission`."""

    def __init__(self, name: str) -> None:
        self.clock = HandClock()
        self.flow = Admission(LIMITS, self.clock, no_load)
        self.block: Block = {"grant": self._grant, "stay": self.flow.lobby.stay}[name]
        self.calls: list[Call] = []

    def _grant(self, tenant: str, peer: str) -> AbstractAsyncContextManager[Any]:
        return self.flow.grant(Claim(tenant=tenant, peer=peer, joined_at=self.clock.now()))

    def act(self, kind: str, what: Any) -> None:
        match kind:
            case "enter":
                call = Call(*what)
                call.task = asyncio.create_task(call.run(self.block))
                self.calls.append(call)
            case "leave" | "cancel" if what < len(self.calls):
                call = self.calls[-1 - what]
                assert call.task is not None
                call.may_leave.set() if kind == "leave" else call.task.cancel()
            case "turn the clock":
                self.clock.turn(what)
            case "drain":
                self.flow.drain()

    @property
    def inside(self) -> list[Call]:
        return [call for call in self.calls if call.is_inside]

    @property
    def outside(self) -> list[Call]:
        """Those that wait to get in, longest first."""
        return [call for call in self.calls if call.task and not call.task.done() and not call.is_inside]

    def most_of(self, key: str) -> int:
        """The most calls inside that share a tenant, or a host that has a name."""
        names = [name for call in self.inside if (name := getattr(call, key))]
        return max(map(names.count, names), default=0)

    def check_ends(self) -> None:
        """Every call that ended was let in and left, was cancelled, or was told why it may not stay."""
        for call in self.calls:
            if call.task and call.task.done() and not call.task.cancelled():
                error = call.task.exception()
                assert error is None or isinstance(error, FlowError), repr(error)

    async def end(self) -> None:
        """Let everybody leave."""
        for call in self.calls:
            call.may_leave.set()
        await settle()
        self.check_ends()
        assert not self.inside
        assert not self.outside


async def settle() -> None:
    """Let every task go as far as it can."""
    for _ in range(30):
        await asyncio.sleep(0)


async def play(name: str, acts: list[tuple[str, Any]], check: Callable[[Play], None]) -> Play:
    """Do it all, with a look whenever everybody is where they should be, and end with nobody left."""
    on = Play(name)
    for kind, what in [*acts, ("settle", None)]:
        on.act(kind, what)
        if kind == "pass":
            await asyncio.sleep(0)
        if kind == "settle":
            await settle()
            on.check_ends()
            check(on)
    await on.end()
    return on


def check_permits(on: Play) -> None:
    inside, outside = on.inside, on.outside
    assert (on.flow.held, on.flow.waiting) == (len(inside), len(outside))
    assert len(inside) <= LIMITS.max_turns
    assert on.most_of("tenant") <= LIMITS.max_tenant_turns
    assert on.most_of("peer") <= LIMITS.max_peer_turns
    for call in outside:
        own_tenant = [other for other in inside if other.tenant == call.tenant]
        own_peer = [other for other in inside if call.peer and other.peer == call.peer]
        has_room = len(inside) < LIMITS.max_turns
        assert not (has_room and len(own_tenant) < LIMITS.max_tenant_turns and len(own_peer) < LIMITS.max_peer_turns)


def check_silence(on: Play) -> None:
    assert not on.outside
    assert len(on.flow.lobby) == len(on.inside) <= LIMITS.max_silent_calls
    assert on.most_of("tenant") <= LIMITS.max_tenant_silent_calls
    assert on.most_of("peer") <= LIMITS.max_peer_silent_calls


@given(_acts)
def test_no_sequence_loses_a_permit_or_keeps_one_from_who_waits(acts: list[tuple[str, Any]]) -> None:
    """A lost permit is gone until the process ends, and a waiter that is passed over waits for nothing."""

    async def run() -> None:
        on = await play("grant", acts, check_permits)
        assert (on.flow.held, on.flow.waiting) == (0, 0)
        await asyncio.wait_for(on.flow.wait_idle(), 1)

    asyncio.run(run())


@given(_acts)
def test_no_sequence_keeps_more_silent_calls_than_shares_allow(acts: list[tuple[str, Any]]) -> None:
    """Silence is bounded for each tenant and each host, whoever else is silent."""

    async def run() -> None:
        on = await play("stay", acts, check_silence)
        assert len(on.flow.lobby) == 0

    asyncio.run(run())


async def test_a_permit_passes_by_a_turn_that_is_cancelled_in_the_same_moment() -> None:
    """The turn that gives the permit back has ended well, so nothing of the other's cancel may reach it."""
    on = Play("grant")
    for _ in range(LIMITS.max_tenant_turns + 2):
        on.act("enter", ("a", ""))
    await settle()
    first, _, cancelled, last = on.calls
    first.may_leave.set()
    assert cancelled.task is not None
    cancelled.task.cancel()
    await settle()
    on.check_ends()
    assert last.is_inside
    await on.end()


async def test_a_tenant_at_its_limit_ends_no_silent_call_of_another() -> None:
    """Behind one proxy all tenants share a host; whoever floods it would else end everybody's calls."""
    on = Play("stay")
    for tenant in "baaaaa":
        on.act("enter", (tenant, "p"))
        await settle()
    assert [call.tenant for call in on.inside] == ["b", "a", "a"]
    await on.end()


async def test_drain_ends_whoever_enters_in_the_same_moment() -> None:
    """Between a call's task and its first step the server may have begun to drain."""
    on = Play("stay")
    on.act("enter", ("a", "p"))
    on.act("drain", None)
    await settle()
    with pytest.raises(Draining):
        on.calls[0].task.result()  # type: ignore[union-attr]  # it was started


@pytest.mark.parametrize("name", ["max_peer_turns", "max_tenant_silent_calls", "max_peer_silent_calls"])
def test_a_share_of_nothing_is_refused_at_the_start(name: str) -> None:
    """With it no call could ever be served."""
    with pytest.raises(ValueError, match=f"{name} must be at least 1"):
        FlowSettings(**{name: 0})
