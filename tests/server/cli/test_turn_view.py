"""A turn as it is watched: on a terminal, in a pipe, and by a program."""

import io
import json
import re
from contextlib import suppress

import pytest
from rich.console import Console

from headworks.intake.finding import Noted
from headworks.server.cli.turn_view import JsonView, TextView, view_for
from headworks.server.client.client import CallFailed
from headworks.server.turn.steps import Delta, Found
from tests.server.cli.scripted import EVENTS, FINAL, FINISHED, NORMALIZED, PARTIAL

_CODES = re.compile(r"\x1b\[\??(\d*)([A-Za-z])|(\n)|(\r)|([^\x1b\n\r]+)")


def screen(written: str) -> list[str]:
    """What stands on a terminal after these bytes, line by line; it knows the codes that rich's `Live` uses."""
    lines, row = [""], 0
    for count, code, line_feed, carriage, words in _CODES.findall(written):
        if words:
            lines[row] += words
        elif line_feed:
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif code == "A":
            row -= int(count or 1)
        elif code == "K":
            lines[row] = ""
        else:
            assert carriage or code in ("l", "h", "m"), f"a terminal code that this knows nothing of: {code}"
    return [line.rstrip() for line in lines if line.strip(" ─")]


class Watched:
    """A view, and what it has written so far."""

    def __init__(self, *, is_terminal: bool) -> None:
        self.written = io.StringIO()
        console = Console(
            file=self.written, width=100, height=40, highlight=False, emoji=False, markup=False,
            force_terminal=is_terminal, color_system=None,
        )  # fmt: skip
        self.view = TextView(console, is_screen=is_terminal)

    def lines(self) -> list[str]:
        """What is seen now; `Live` is made to draw, instead of waiting for its own moment."""
        if self.view._live is not None and self.view._live.is_started:
            self.view._live.refresh()
        return screen(self.written.getvalue())


@pytest.fixture
def terminal() -> Watched:
    return Watched(is_terminal=True)


@pytest.fixture
def pipe() -> Watched:
    return Watched(is_terminal=False)


def test_progress_is_drawn_below_and_gone_in_the_end(terminal: Watched) -> None:
    """How far an upload is, by its name; nothing of it is left to read afterwards."""
    with terminal.view as view:
        assert terminal.lines()[-1].endswith("connecting")
        view.sent("orders.csv", 10, 100)
        assert terminal.lines()[-1].endswith("sending orders.csv 10 %")
        view.show(EVENTS[0])
        assert terminal.lines()[0] == "turn       turn-1, answered by smollm2"
        view.sent("orders.csv", 100, 100)
        assert terminal.lines()[-1].endswith("orders.csv is sent; waiting for what comes of it")
    assert not [line for line in terminal.lines() if "orders.csv" in line]


def test_progress_of_unknown_size_names_no_share(terminal: Watched) -> None:
    """A pipe has no end to measure by; a name with control codes does not steer the terminal."""
    with terminal.view as view:
        view.sent("said\x1b[2J.wav", 1_250_000, None)
        assert terminal.lines()[-1].endswith("sending said\ufffd[2J.wav, 1.2 MB so far")


def test_a_partial_is_replaced_by_its_final(terminal: Watched) -> None:
    """The words are seen while they are spoken, and once in the end."""
    with terminal.view as view:
        view.show(Found(PARTIAL))
        assert "heard 1    How many  0.00-0.80 s, confidence 0.70" in terminal.lines()
        view.show(Found(FINAL))
        heard = [line for line in terminal.lines() if line.startswith("heard")]
        assert heard == ["heard 1    How many orders did we ship in March?  0.12-2.44 s, confidence 0.91"]


def test_a_whole_turn_reads_the_same_on_a_terminal_and_in_a_pipe(terminal: Watched, pipe: Watched) -> None:
    """In the order of its events, the answer in one piece under its heading, timings last."""
    for watched in (terminal, pipe):
        with watched.view as view:
            for event in EVENTS:
                view.show(event)
    lines = terminal.lines()
    assert lines == pipe.lines()
    firsts = [line.split()[0] for line in lines]
    assert [first for first in firsts if first in ("turn", "read", "seen", "heard", "answer", "usage", "Timings")] == [
        "turn", "read", "seen", "heard", "answer", "usage", "Timings",
    ]  # fmt: skip
    assert lines[lines.index("answer") + 1] == "We shipped 459."


def test_a_pipe_gets_no_codes(pipe: Watched) -> None:
    """A log keeps what was said, not how it was drawn."""
    with pipe.view as view:
        view.sent("orders.csv", 10, 100)
        for event in EVENTS:
            view.show(event)
        view.show_spans(NORMALIZED)
        view.say("A remark.")
    assert "\x1b" not in pipe.written.getvalue()
    assert "orders.csv" not in pipe.written.getvalue()
    assert pipe.lines()[-1] == "A remark."


def test_an_answer_that_breaks_off_ends_its_line(terminal: Watched) -> None:
    """The sentence about the failure must not be glued to the answer, and the cursor comes back."""
    with suppress(CallFailed), terminal.view as view:
        view.show(Delta("We ship", (1,)))
        raise CallFailed("ABORTED", "ENGINE_BROKEN", "it broke")
    assert terminal.lines() == ["answer", "We ship"]
    assert terminal.written.getvalue().endswith("We ship\n\n")
    assert terminal.written.getvalue().rindex("\x1b[?25h") > terminal.written.getvalue().rindex("\x1b[?25l")


def test_what_the_model_says_cannot_steer_the_terminal(terminal: Watched) -> None:
    """Also when the code comes in pieces; line ends and tabs are its own business."""
    with terminal.view as view:
        for piece in ("\x1b", "[2J[red]red[/red]\n", "\tnext\x07"):
            view.show(Delta(piece, (1,)))
    assert terminal.written.getvalue().count("\x1b[2J") == 0
    assert terminal.lines() == ["answer", "\ufffd[2J[red]red[/red]", "        next\ufffd"]


def test_text_that_intake_noted_is_not_echoed(pipe: Watched) -> None:
    """Whoever typed it knows it."""
    with pipe.view as view:
        view.show(Found(Noted(1, ())))
    assert pipe.lines() == []


def test_json_has_every_event_and_no_remark(capsys: pytest.CaptureFixture[str]) -> None:
    """One object a line; what is meant for eyes is left out."""
    with view_for(is_json=True) as view:
        assert isinstance(view, JsonView)
        view.say("A remark.")
        view.sent("orders.csv", 1, 2)
        for event in EVENTS:
            view.show(event)
        view.show_spans(NORMALIZED)
    printed = capsys.readouterr()
    rows = [json.loads(line) for line in printed.out.splitlines()]
    assert [row["event"] for row in rows] == [
        "accepted", "read", "seen", "heard", "heard", "delta", "delta", "finished", "normalized",
    ]  # fmt: skip
    assert printed.err == ""
    read, seen, finished = rows[1], rows[2], rows[7]
    assert read["table_id"] == "table-1"
    assert not [row for row in rows[:8] if "spans" in row]
    assert read["profile"]["columns"][1] == {
        "name": "x", "type": "DATE", "nulls": 12, "distinct": 0, "minimum": None, "maximum": None,
    }  # fmt: skip
    assert seen["lines"] == [
        {"text": "TOTAL 12.50", "confidence": 0.98, "box": {"left": 10, "top": 20, "right": 200, "bottom": 44}}
    ]
    left = {"limit": "obligations.tokens_per_minute", "allowed": 9000, "remaining": 8676, "full_in_seconds": 2.5}
    used = {"input_tokens": 321, "output_tokens": 3, "remaining_tokens_per_minute": 8676}
    assert finished["usage"] == {**used, "allowances": [left]}
    assert finished["reason"] == FINISHED.reason.value
    assert rows[8]["spans"][3]["origin"] == {"first_row": 0, "end_row": 12, "columns": ["month", "x"]}


def test_json_escapes_what_could_steer_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is replaced, because a program wants the text as it was; letters stay readable."""
    said = "\x1b[31mré\n\x9b1m\u202e\x7f"
    with view_for(is_json=True) as view:
        view.show(Delta(said, (1,)))
    printed = capsys.readouterr().out
    assert printed.count("\n") == 1
    assert "ré" in printed
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", printed)
    assert json.loads(printed)["text"] == said
