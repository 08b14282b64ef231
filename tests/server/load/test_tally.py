"""Counts and quantiles."""

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.server.load.tally import LEAST_SECONDS, MAX_REASONS, OTHER_REASON, Ending, Histogram, State, Tally

seconds = st.floats(LEAST_SECONDS, 3600)


@given(times=st.lists(seconds, min_size=1, max_size=200), share=st.floats(0, 1))
def test_a_quantile_is_right_within_two_percent(times: list[float], share: float) -> None:
    """Buckets keep no time, so that an hour under load takes no more memory than a minute."""
    histogram = Histogram()
    for time in times:
        histogram.add(time)
    exact = sorted(times)[max(1, ceil(share * len(times))) - 1]
    assert histogram.quantile(share) == pytest.approx(exact, rel=0.02)


@given(one=st.lists(seconds, max_size=50), other=st.lists(seconds, max_size=50))
def test_histograms_of_parts_are_the_histogram_of_the_whole(one: list[float], other: list[float]) -> None:
    """A step's times are those of its tenants together."""
    parts, whole = (Histogram(), Histogram()), Histogram()
    for histogram, times in zip(parts, (one, other), strict=True):
        for time in times:
            histogram.add(time)
            whole.add(time)
    parts[0].include(parts[1])
    for share in (0.0, 0.5, 0.99, 1.0):
        assert parts[0].quantile(share) == whole.quantile(share)


def test_there_is_no_quantile_of_nothing() -> None:
    """And no time so short that it has no logarithm."""
    histogram = Histogram()
    assert histogram.quantile(0.5) is None
    histogram.add(0.0)
    assert histogram.quantile(0.5) == pytest.approx(LEAST_SECONDS, rel=0.02)


endings = st.builds(
    Ending, st.sampled_from(State), st.sampled_from(["", "flow.max_turns", "ABORTED"]), st.integers(0, 99)
)


@given(parts=st.lists(st.lists(endings, max_size=30), min_size=1, max_size=4))
def test_every_turn_is_in_exactly_one_state(parts: list[list[Ending]]) -> None:
    """Nothing is silent, and tenants add up to the whole."""
    tallies = [Tally() for _ in parts]
    for tally, turns in zip(tallies, parts, strict=True):
        for turn in turns:
            tally.offered += 1
            tally.note_end(turn)
    figures = Tally.of(tallies).figures(10.0)
    turns = [turn for part in parts for turn in part]
    assert figures.offered == sum(figures.counts.values()) == len(turns)
    good = [turn.tokens for turn in turns if turn.state is State.FINISHED]
    assert figures.goodput == pytest.approx(sum(good) / 10)
    named = [turn for turn in turns if turn.why and turn.state is not State.FINISHED]
    assert sum(count for _, _, count in figures.reasons) == len(named)


def test_a_server_that_invents_reasons_does_not_fill_memory() -> None:
    """A limit's name comes over the wire."""
    tally = Tally()
    for number in range(1000):
        tally.note_refusal(f"limit {number}", 0.001)
        tally.note_end(Ending(State.FAILED, f"CODE {number}"))
    figures = tally.figures(1.0)
    assert len(figures.refusals) <= MAX_REASONS + 1
    assert dict(figures.refusals)[OTHER_REASON] == 1000 - MAX_REASONS
    assert len(figures.reasons) <= MAX_REASONS + 1
