"""The detector of runs of high values: how often it is wrong, and how soon it is right."""

import math
import random
from collections.abc import Callable
from statistics import fmean, median, pstdev, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.server.flow.detector import DOWN, UP, USUAL_SHARE, Detector, DetectorSettings

Noise = Callable[[random.Random], float]
SHAPES: dict[str, Noise] = {
    "lognormal": lambda random: random.lognormvariate(-3.0, 0.5),
    "wide lognormal": lambda random: random.lognormvariate(-3.0, 1.5),
    "gamma": lambda random: random.gammavariate(4.0, 0.01),
    "exponential": lambda random: random.expovariate(25.0),
    "heavy tail": lambda random: 0.02 * random.paretovariate(1.5),
}
PLAIN = DetectorSettings(threshold=8, least_ratio=1.0)
"""Alarms often, so that its rate can be counted in a test."""


def distance(high_share: float, threshold: int) -> float:
    """Return the mean number of values until an alarm, from the chart's Markov chain, exactly."""
    chain, ones = np.eye(threshold), np.ones(threshold)
    for score in range(threshold):
        chain[score, max(0, score - DOWN)] -= 1 - high_share
        if score + UP < threshold:
            chain[score, score + UP] -= high_share
    return float(np.linalg.solve(chain, ones)[0])


def alarms(detector: Detector, noise: Noise, values: int) -> int:
    """Return how often an alarm began."""
    source, count = random.Random(8), 0
    for _ in range(values):
        before = detector.is_alarmed
        detector.add(noise(source))
        count += detector.is_alarmed and not before
    return count


def delay(noise: Noise, factor: float, seed: int) -> int:
    """Return how many values after a change by this factor the alarm came."""
    source, detector = random.Random(seed), Detector(0.0, DetectorSettings())
    for _ in range(2_000):
        detector.add(noise(source))
    assert not detector.is_alarmed
    for count in range(1, 1_000):
        detector.add(factor * noise(source))
        if detector.is_alarmed:
            return count
    return 1_000


@given(st.lists(st.floats(1e-6, 1e6), min_size=5, max_size=5))
def test_the_ratio_of_five_gaps_never_passes_two(gaps: list[float]) -> None:
    """So an alarm above 2.3, as it is in use, is none: with n values the ratio is at most the root of n - 1.

    The highest is one gap that is all there is, for the deviation over n; with the sample's own, over n - 1, the bound
    is the root of n, 2.24.
    """
    assert pstdev(gaps) / fmean(gaps) <= 2.0 + 1e-9
    assert stdev(gaps) / fmean(gaps) <= math.sqrt(5) + 1e-9 < 2.3


def test_false_alarms_are_as_rare_as_stated() -> None:
    """The figures in the setting's docstring, from the chain itself."""
    threshold = DetectorSettings().threshold
    assert distance(1 - USUAL_SHARE, threshold) > 9_000_000
    assert distance(0.06, threshold) > 2_000_000
    assert distance(1.0, threshold) == 6


@pytest.mark.parametrize("shape", SHAPES)
def test_false_alarms_do_not_depend_on_the_noise(shape: str) -> None:
    """A detector that takes one shape for granted alarms all day on another; this one keeps its rate on each.

    The border is estimated, which makes alarms half as frequent again as the chain has it.
    """
    values = 200_000
    expected = values / distance(1 - USUAL_SHARE, PLAIN.threshold)
    found = alarms(Detector(0.0, PLAIN), SHAPES[shape], values)
    assert expected > 40
    assert found < 1.5 * expected + 4 * math.sqrt(1.5 * expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_default_is_quiet_on_noise(shape: str) -> None:
    """Two hundred thousand looks are half a day's."""
    assert alarms(Detector(0.0, DetectorSettings()), SHAPES[shape], 200_000) == 0


@pytest.mark.parametrize("shape", ["lognormal", "gamma"])
def test_a_stall_is_found_in_six_values(shape: str) -> None:
    """Ten times the usual gap is over any border; no chart of this rate can be faster than its threshold."""
    assert max(delay(SHAPES[shape], 10.0, seed) for seed in range(20)) <= 8


def test_a_change_by_three_times_is_found_within_some_tens_of_values() -> None:
    """For the median of runs: the wider the noise, the longer it takes."""
    assert median(delay(SHAPES["lognormal"], 3.0, seed) for seed in range(20)) <= 25
    assert median(delay(SHAPES["exponential"], 10.0, seed) for seed in range(20)) <= 16


def test_an_alarm_ends_when_the_values_are_usual_again() -> None:
    """However long it lasted: the score is capped."""
    detector = trained()
    for _ in range(60):
        detector.add(1.0)
    assert detector.is_alarmed
    assert detector.strength > 5
    for _ in range(DetectorSettings().threshold):
        detector.add(0.02)
    assert not detector.is_alarmed
    assert detector.strength == 0


def test_what_lasts_becomes_usual() -> None:
    """It is change that is found; a level that is too high for good is for the limit to judge."""
    detector = trained()
    for _ in range(300):
        detector.add(0.5)
    assert detector.is_alarmed
    for _ in range(8_000):
        detector.add(0.5)
    assert not detector.is_alarmed
    assert detector.usual == pytest.approx(0.5, rel=0.2)


def test_one_high_value_is_no_alarm_however_high() -> None:
    """A collector's pause or a lost packet is over before anybody could act."""
    detector = trained()
    detector.add(3_600.0)
    assert not detector.is_alarmed


def test_values_up_to_the_least_are_never_high() -> None:
    """From one millisecond to fifty is a change, and nobody feels it."""
    detector = trained(least=0.1, value=0.001)
    for _ in range(100):
        detector.add(0.05)
    assert not detector.is_alarmed


def test_a_moment_without_values_counts_as_calm() -> None:
    """Else an alarm would stand for ever once nothing comes any more."""
    detector = trained()
    for _ in range(10):
        detector.add(1.0)
    border = detector.usual
    for _ in range(DetectorSettings().threshold):
        detector.calm()
    assert not detector.is_alarmed
    assert detector.usual == border


@given(st.lists(st.one_of(st.just(0.0), st.floats(0, 1e9)), max_size=400))
def test_any_values_can_be_taken(values: list[float]) -> None:
    """Zeros too, as a cache that does not move gives them."""
    detector = Detector(0.0, DetectorSettings(warm_up_values=20))
    for value in values:
        detector.add(value)
    assert math.isfinite(detector.usual)


def trained(least: float = 0.0, value: float = 0.02) -> Detector:
    """Return a detector that knows values around this one."""
    source, detector = random.Random(1), Detector(least, DetectorSettings())
    for _ in range(1_000):
        detector.add(source.lognormvariate(math.log(value), 0.3))
    return detector
