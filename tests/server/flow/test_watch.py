"""What the watch over flow raises an alarm for."""

import random
from dataclasses import dataclass

import pytest

from headworks.server.flow.detector import DetectorSettings
from headworks.server.flow.watch import Alarm, FlowWatch, Signal, WatchSettings

LOOK_SECONDS = 0.1
SETTINGS = WatchSettings(detector=DetectorSettings(warm_up_values=100))


@dataclass
class Load:
    running: int = 8
    cache_used: float = 0.5
    looked_up_tokens: int = 0
    reused_tokens: int = 0


class Listener:
    def __init__(self) -> None:
        self.heard: list[tuple[str, Signal]] = []

    def alarmed(self, alarm: Alarm) -> None:
        self.heard.append(("alarmed", alarm.signal))

    def calmed(self, alarm: Alarm, seconds: float) -> None:
        assert seconds > 0
        assert alarm.strength > 1
        self.heard.append(("calmed", alarm.signal))


class Process:
    """Eight answers of a steady engine, turns that come now and then, and a cache that breathes."""

    def __init__(self) -> None:
        self.listener = Listener()
        self.watch = FlowWatch(SETTINGS, self.listener)
        self.load = Load()
        self.now = 0.0
        self._random = random.Random(3)

    def look(
        self, *, gap_seconds: float | None = 0.02, arrivals: int = 1, answering: int = 8, swing: float = 0.01,
        reuse: float = 0.5,
    ) -> None:  # fmt: skip
        for _ in range(8 if gap_seconds is not None else 0):
            self.watch.gap(gap_seconds * self._random.lognormvariate(0, 0.2))  # type: ignore[operator]
        for number in range(arrivals):
            self.watch.arrived(self.now + (number + self._random.random()) * LOOK_SECONDS / arrivals)
        self.now += LOOK_SECONDS
        self.load.cache_used = 0.5 + swing * self._random.uniform(-1, 1)
        self.load.looked_up_tokens += 1_000
        self.load.reused_tokens += int(1_000 * (reuse + 0.05 * self._random.uniform(-1, 1)))
        self.watch.engine(self.load, self.now, answering)

    def looks(self, count: int, **what: float | None) -> None:
        for _ in range(count):
            self.look(**what)  # type: ignore[arg-type]


@pytest.fixture
def process() -> Process:
    process = Process()
    process.looks(1_000)
    assert process.watch.alarms() == ()
    return process


CHANGES: dict[Signal, dict[str, float | None]] = {
    Signal.GAPS: {"gap_seconds": 0.4},
    Signal.ARRIVALS: {"arrivals": 40},
    Signal.CACHE_SWING: {"swing": 0.4},
    Signal.REUSE_SWING: {"reuse": 0.05},
}


@pytest.mark.parametrize("signal", CHANGES)
def test_each_signal_has_its_own_alarm(process: Process, signal: Signal) -> None:
    """Raised within two seconds of the change, told once, and over some seconds after it."""
    process.looks(20, **CHANGES[signal])
    assert process.watch.is_alarmed(signal)
    (alarm,) = process.watch.alarms()
    assert (alarm.signal, alarm.strength > 1) == (signal, True)
    assert process.now - 2 <= alarm.since <= process.now
    process.looks(100)
    assert process.watch.alarms() == ()
    assert process.listener.heard == [("alarmed", signal), ("calmed", signal)]
    assert process.watch.raised == {one: int(one is signal) for one in Signal}


def test_silence_while_answers_run_is_a_stall(process: Process) -> None:
    """An engine that hangs gives no gap at all until it goes on, which may be never (vllm's callers waited 15 min)."""
    process.looks(20, gap_seconds=None)
    assert process.watch.is_alarmed(Signal.GAPS)


def test_silence_with_nothing_to_say_is_none(process: Process) -> None:
    """Callers who still speak, and nights, are not stalls; nor is the first token after them."""
    process.load.running = 0
    process.looks(500, gap_seconds=None, answering=0, arrivals=0)
    process.load.running = 8
    process.looks(3)
    assert process.watch.alarms() == ()


def test_a_burst_is_over_when_nobody_comes_any_more(process: Process) -> None:
    """Though then nothing comes that could be measured."""
    process.looks(3, arrivals=40)
    assert process.watch.is_alarmed(Signal.ARRIVALS)
    process.looks(20, arrivals=0)
    assert not process.watch.is_alarmed(Signal.ARRIVALS)


def test_one_slow_step_of_the_batch_is_no_alarm(process: Process) -> None:
    """It makes the gaps of all answers long at once, which is one cause and counts once."""
    process.look(gap_seconds=2.0)
    process.looks(10)
    assert process.watch.raised[Signal.GAPS] == 0


def test_one_answer_that_is_slow_is_no_alarm(process: Process) -> None:
    """Its caller reads slowly, or its prompt is long; the others flow."""
    for _ in range(20):
        process.watch.gap(1.0)
        process.look()
    assert process.watch.alarms() == ()


def test_a_restarted_engine_begins_its_figures_anew(process: Process) -> None:
    """Its counts fall to 0, which is no reuse below nothing."""
    process.load.looked_up_tokens = process.load.reused_tokens = 0
    process.looks(50)
    assert process.watch.alarms() == ()
