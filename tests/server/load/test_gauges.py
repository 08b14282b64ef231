"""The server's gauges, as they are read."""

import pytest

from headworks.server.load.gauges import MAX_GAUGES, HttpGauges, NoGauges, Peaks, parse_gauges, signs_in

PAGE = """# HELP headworks_turns_waiting Turns in line for a permit.
# TYPE headworks_turns_waiting gauge
headworks_turns_waiting 3.0
# TYPE headworks_turns counter
headworks_turns_total{outcome="finished"} 7.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model="a b"} 0.97 1700000000
# TYPE python_gc gauge
python_gc 4.0
# TYPE headworks_engine_cache_used gauge
headworks_engine_cache_used 1e-1
"""


def test_only_gauges_of_headworks_and_vllm_are_kept() -> None:
    """A counter's greatest value says nothing about a moment."""
    assert parse_gauges(PAGE) == {
        "headworks_turns_waiting": 3.0,
        'vllm:kv_cache_usage_perc{engine="0",model="a b"}': 0.97,
        "headworks_engine_cache_used": 0.1,
    }


def test_signs_are_read_with_their_value() -> None:
    """A line, or a cache that is full, is a limit that refuses nobody."""
    told = signs_in(parse_gauges(PAGE))
    assert len(told) == 2
    assert "in line for a permit" in told[0]
    assert "reached 3" in told[0]
    assert "cache was full" in told[1]
    assert signs_in({"headworks_turns_waiting": 0.0}) == []


@pytest.mark.parametrize(
    "page", ["", "<html>", "# TYPE headworks_x gauge\nheadworks_x many\n", "# TYPE x gauge\nx 1\n"]
)
def test_a_page_that_holds_no_gauges_is_told(page: str) -> None:
    """A wrong address must not read as a server without signs."""
    with pytest.raises(NoGauges):
        parse_gauges(page)


def test_a_page_without_end_does_not_fill_memory() -> None:
    """It is another server's."""
    page = "# TYPE headworks_x gauge\n" + "".join(f'headworks_x{{n="{n}"}} 1\n' for n in range(5 * MAX_GAUGES))
    assert len(parse_gauges(page)) == MAX_GAUGES


async def test_nobody_there_is_no_gauges() -> None:
    """The read fails by its own error, which is counted."""
    peaks = Peaks(HttpGauges("http://127.0.0.1:1/metrics"))
    await peaks.look()
    assert (peaks.reads, peaks.failed_reads, peaks.most()) == (1, 1, {})


async def test_the_most_of_each_gauge_is_kept_since_the_beginning() -> None:
    """A line of a second is over before the next read."""

    class Falling:
        def __init__(self) -> None:
            self.left = 3.0

        async def read(self) -> dict[str, float]:
            self.left -= 1
            return {"headworks_turns_waiting": self.left}

    peaks = Peaks(Falling())
    for _ in range(2):
        await peaks.look()
    assert peaks.most() == {"headworks_turns_waiting": 2.0}
    peaks.begin()
    await peaks.look()
    assert peaks.most() == {"headworks_turns_waiting": 0.0}
