"""Admission tells the watch what comes and what is answered."""

import asyncio
from dataclasses import replace

import pytest

from headworks.server.engine.engine import EngineLoad
from headworks.server.flow.admission import Admission
from headworks.server.flow.claim import Claim
from headworks.server.flow.detector import DetectorSettings
from headworks.server.flow.settings import FlowSettings
from headworks.server.flow.watch import Signal, WatchSettings
from tests.fakes.clocks import HandClock

LOAD = EngineLoad(running=1, waiting=0, cache_used=0.5)
SETTINGS = FlowSettings(watch=WatchSettings(detector=DetectorSettings(warm_up_values=50)))


class Running:
    """An admission with one answer that flows, looked at between its tokens."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.admission = Admission(SETTINGS, self.clock, lambda: replace(LOAD))

    def look(self, count: int) -> None:
        for _ in range(count):
            self.clock.turn(0.1)
            self.admission.look()


@pytest.fixture
def process() -> Running:
    return Running()


async def test_an_answer_that_stops_flowing_raises_the_alarm_and_its_end_lets_it_go(process: Running) -> None:
    """Silence counts only while an answer runs; a caller who leaves takes the stall along."""
    claim = Claim(tenant="a", deadline=10_000.0)
    async with process.admission.grant(claim) as grant:
        for _ in range(200):
            grant.answered(5, is_last=False)
            process.look(1)
        assert process.admission.watch.alarms() == ()
        process.look(20)
        assert process.admission.watch.is_alarmed(Signal.GAPS)
    process.look(40)
    assert process.admission.watch.alarms() == ()


async def test_an_answer_that_is_whole_is_no_stall(process: Running) -> None:
    """Its turn may hold the permit for a while, until its caller has read."""
    claim = Claim(tenant="a", deadline=10_000.0)
    async with process.admission.grant(claim) as grant:
        for _ in range(200):
            grant.answered(5, is_last=False)
            process.look(1)
        grant.answered(1, is_last=True)
        process.look(50)
        assert process.admission.watch.alarms() == ()
        await asyncio.sleep(0)
    assert process.admission.figures().held == 0


async def test_calls_that_are_refused_at_the_knock_are_arrivals(process: Running) -> None:
    """A burst is mostly calls that are refused."""
    for pause in [1.0] * 100 + [0.001] * 20:
        process.clock.turn(pause)
        process.admission.knock(Claim(tenant="a", deadline=10_000.0))
    assert process.admission.watch.is_alarmed(Signal.ARRIVALS)
