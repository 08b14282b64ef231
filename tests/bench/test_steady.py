"""The steady benchmark: what it counts as a gap, and a tiny run."""

import pytest

from bench.turn import Sample
from tests.bench.programs import output_of


def test_gaps_between_messages_leave_out_tokens_that_came_together() -> None:
    """Zeros make a stream look smoother than its reader sees it."""
    assert Sample(gaps=[0.02, 0.0, 0.0, 0.04]).gaps_between_messages() == [0.02, 0.04]


@pytest.mark.models
@pytest.mark.slow
def test_steady_load_is_compared_with_the_bare_server() -> None:
    """A figure without the ceiling of the same run says little on a machine that drifts."""
    printed = output_of("steady", "--scale", "0.02", "--most", "16")
    for title in ("first token p99", "CPU of the server for one turn", "tokens per second, and the share"):
        assert title in printed
