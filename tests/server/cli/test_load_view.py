"""What is shown of a run while it goes on."""

import io

from rich.console import Console

from headworks.server.cli.load_view import SECONDS_SHOWN, LoadView, sparkline
from headworks.server.load.moment import moment_of
from headworks.server.load.step import Phase, Step
from headworks.server.load.tally import Ending, State, Tally
from tests.server.load.curves import result


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def second() -> Tally:
    tally = Tally()
    tally.offered = 2
    tally.note_end(Ending(State.FINISHED, tokens=40))
    tally.note_end(Ending(State.REFUSED, "flow.max_turns"))
    tally.note_refusal("flow.max_turns", 0.001)
    tally.first_token.add(0.25)
    return tally


def test_a_line_is_drawn_from_nought_to_its_top() -> None:
    """A second without an answer has no time, which is not a time of 0."""
    assert sparkline([0, 4, None, 8]) == " ▄ █"
    assert sparkline([None, 0.0]) == "  "
    assert sparkline([]) == ""


def test_curves_are_drawn_on_a_terminal_while_the_run_goes_on() -> None:
    """Each has its name, its unit and its last value."""
    screen = Screen()
    console = Console(file=screen, force_terminal=True, width=100, height=40)
    with LoadView(lambda level: f"{level:g} turns/s", console) as view:
        for at in range(2 * SECONDS_SHOWN):
            view.show_moment(moment_of(at + 1.0, 1.0, Step(Phase.RAMP, 2.0), second(), open_turns=7))
    drawn = screen.getvalue()
    assert "120 s: ramp, 2 turns/s; Ctrl-C ends the run with its table" in drawn
    for name, last in (("goodput", "40 tokens/s"), ("refused", "1 calls/s"), ("first token p99", "25")):
        assert name in drawn
        assert last in drawn


def test_a_pipe_gets_a_line_for_each_step() -> None:
    """Nothing is drawn over there."""
    pipe = io.StringIO()
    with LoadView(lambda level: f"{level:g} turns/s", Console(file=pipe, width=100)) as view:
        view.show_moment(moment_of(1.0, 1.0, None, second(), open_turns=0))
        view.show_result(result(Step(Phase.RAMP, 2.0), 2.0, 2.0))
    assert pipe.getvalue().count("\n") == 1
    assert "2 turns/s: 20 tokens/s inside the deadline, 100% of 20 turns finished" in pipe.getvalue()
