"""When tokens share a message."""

from headworks.server.flow.pace import Pace
from headworks.server.flow.settings import PaceSettings
from tests.fakes.clocks import HandClock


def test_a_process_that_is_late_lets_tokens_share_messages_and_stops_when_it_is_not() -> None:
    """One message a token is the rule; the wait is bounded, so that an answer still flows."""
    pace = Pace(PaceSettings(), HandClock())
    pace.looked(0.0)
    assert pace.wait_seconds == 0.0
    for _ in range(20):
        pace.looked(10.0)
    assert pace.wait_seconds == PaceSettings().max_wait_seconds
    for _ in range(500):
        pace.looked(0.0)
    assert pace.wait_seconds == 0.0


def test_while_a_line_stands_tokens_share_messages_whatever_the_lag() -> None:
    """Work that is spared serves those who wait."""
    pace = Pace(PaceSettings(), HandClock())
    pace.is_sparing = True
    assert pace.wait_seconds == PaceSettings().max_wait_seconds
