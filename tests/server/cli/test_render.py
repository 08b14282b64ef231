"""What a person reads, line by line, on a console of a fixed width."""

import io
from dataclasses import replace

import pytest
from rich.console import Console, RenderableType

from headworks.intake.finding import Column, Heard, Label, Read, Seen, TableProfile, TextLine
from headworks.intake.span import AudioOrigin, ImageOrigin, Modality, Span, TextOrigin
from headworks.policy.trust.assess import Trust
from headworks.policy.verdict import Obligations, Verdict
from headworks.server.cli import render
from headworks.server.engine.engine import FinishReason
from headworks.server.turn.steps import Accepted, Finished, Judgement, Normalized, Timings, Usage
from tests.server.cli.scripted import FINAL, FINISHED, JUDGEMENT, NORMALIZED, READ, SEEN, TURN_ID

WIDTH = 100


def lines_of(what: RenderableType, width: int = WIDTH) -> list[str]:
    """Print as `render.out` does into a pipe, and return the lines with something to read, ends stripped."""
    printed = io.StringIO()
    console = Console(file=printed, width=width, highlight=False, emoji=False, markup=False)
    console.print(what)
    return [line.strip() for line in printed.getvalue().splitlines() if line.strip(" ─")]


def test_an_open_turn_says_who_answers_and_why_it_may() -> None:
    """The id to quote, the trust with its factors, the reasons, the ceilings and the decision."""
    assert lines_of(render.accepted(Accepted(TURN_ID, "smollm2", JUDGEMENT)), 200) == [
        "turn       turn-1, answered by smollm2",
        "policy     allowed, trust 0.80 = no_credentials 0.80; reasons LOOPBACK; at most 3,000 prompt tokens, "
        "9,000 tokens a minute; decision decision-1",
    ]


def test_a_refusal_says_so_first() -> None:
    """Two factors are shown as the product they are; a ceiling of 0 is a ceiling."""
    refusal = Verdict(
        False, "decision-9", ("TRUST_TOO_LOW", "TENANT_UNKNOWN"), "", obligations=Obligations(max_output_tokens=0)
    )
    trust = Trust(0.4, (("no_credentials", 0.8), ("clear_transport", 0.5)))
    assert lines_of(render.verdict(Judgement(refusal, trust)), 200) == [
        "policy     refused, trust 0.40 = no_credentials 0.80 x clear_transport 0.50; "
        "reasons TRUST_TOO_LOW, TENANT_UNKNOWN; at most 0 answer tokens; decision decision-9"
    ]


def test_full_trust_without_ceilings_is_short() -> None:
    """Nothing is said of what is not there."""
    plain = Judgement(Verdict(True, "decision-2", (), ""), Trust(1.0, ()))
    assert lines_of(render.verdict(plain)) == ["policy     allowed, trust 1.00; decision decision-2"]


def test_a_transcript_has_its_place_and_confidence() -> None:
    """Also one that came to nothing."""
    assert lines_of(render.heard(FINAL)) == [
        "heard 1    How many orders did we ship in March?  0.12-2.44 s, confidence 0.91"
    ]
    nothing = Heard(2, "", True, 0.1, AudioOrigin(0, 61_500), ())
    assert lines_of(render.heard(nothing)) == [
        "heard 2    (nothing that could be made out)  0.00-61.50 s, confidence 0.10"
    ]


def test_a_picture_has_its_size_labels_and_printed_lines() -> None:
    """Confidence stands right-aligned beside the line it is about."""
    assert lines_of(render.seen(SEEN)) == [
        "seen 1     PNG, 480 x 320 pixels, 1 printed lines",
        "labels     document: a receipt 0.93",
        "printed line   confidence   box (pixels)",
        "TOTAL 12.50          0.98   10,20 - 200,44",
    ]


def test_a_picture_shows_the_best_label_of_each_set() -> None:
    """A set may hold hundreds; --json has the others."""
    labels = (Label("content", "dog", 0.8), Label("content", "cat", 0.1), Label("safety", "safe", 0.99))
    assert lines_of(render.seen(replace(SEEN, labels=labels)))[1] == "labels     content: dog 0.80, safety: safe 0.99"


def test_a_picture_without_words_and_labels_is_one_line() -> None:
    """No empty tables."""
    bare = Seen(1, "webp", 8, 9, (), (), ())
    assert lines_of(render.seen(bare)) == ["seen 1     WEBP, 8 x 9 pixels, 0 printed lines"]


def test_a_table_shows_its_profile() -> None:
    """A column without values has no ends; counts have thousands."""
    assert lines_of(render.read(READ)) == [
        "read 1     CSV, 12 rows, 2 columns, id table-1",
        "column   type      nulls   distinct   minimum   maximum",
        "month    VARCHAR       0         12   2025-01   2025-12",
        "x        DATE         12          0         -         -",
    ]
    big = Read(1, "t", TableProfile("parquet", 1_234_567, (Column("n", "BIGINT", 1_000, 9_999, "-5", "7"),)), ())
    assert lines_of(render.read(big))[0] == "read 1     PARQUET, 1,234,567 rows, 1 columns, id t"
    assert lines_of(render.read(big))[-1].split() == ["n", "BIGINT", "1,000", "9,999", "-5", "7"]


def test_what_is_not_shown_is_counted() -> None:
    """Forty rows of a part; --json has the others."""
    columns = tuple(Column(f"c{number}", "BIGINT", 0, 1, "1", "1") for number in range(43))
    shown = lines_of(render.read(Read(1, "t", TableProfile("csv", 1, columns), ())))
    assert len([line for line in shown if line.startswith("c") and "BIGINT" in line]) == 40
    assert shown[-1] == "… and 3 more columns; --json prints them all"
    printed = tuple(TextLine(f"line {number}", 1.0, ImageOrigin(0, 0, 1, 1)) for number in range(41))
    assert lines_of(render.seen(Seen(1, "png", 1, 1, printed, (), ())))[-1] == (
        "… and 1 more lines; --json prints them all"
    )


def test_the_end_of_a_turn_shows_usage_and_where_the_time_went() -> None:
    """Every step with its unit, in the order in which they happen."""
    shown = lines_of(render.finished(FINISHED), 200)
    assert shown[1] == "usage      321 tokens in, 3 out; 8,676 tokens left this minute; the model ended it"
    assert shown[2:4] == ["Timings", "step                                       time"]
    assert [" ".join(line.split()) for line in shown[4:]] == [
        "accept 4.0 ms",
        "policy, all judgements 2.0 ms",
        "intake of voice, after its last byte 710.0 ms",
        "intake of table, after its last byte 30.0 ms",
        "queue 1.0 ms",
        "end of input to first token 250.0 ms",
        "first token to last 500.0 ms",
        "tokens per second 4.0",
    ]


def test_a_cut_answer_of_one_token_has_no_rate() -> None:
    """A rate needs two tokens; no budget is no sentence about one; long times are in seconds."""
    event = Finished(FinishReason.LENGTH, Usage(5, 1), Timings(first_token=12.5), JUDGEMENT)
    shown = [" ".join(line.split()) for line in lines_of(render.finished(event), 200)]
    assert "usage 5 tokens in, 1 out; the token ceiling was reached" in shown
    assert "end of input to first token 12.50 s" in shown
    assert "tokens per second -" in shown


def test_spans_show_origin_confidence_tokens_and_text() -> None:
    """Each origin in its own unit; what has no confidence has a dash."""
    assert lines_of(render.spans(NORMALIZED), 200) == [
        "span      origin                 confidence   tokens   text",
        "text 1    characters 0-12                 -        3   Which month?",
        "voice 1   0.12-2.44 s                  0.91        1   How many?",
        "image 1   1,2 - 3,4                    0.98        1   TOTAL",
        "table 1   rows 0-12, 2 columns            -        1   month",
        "prompt     40 tokens with the chat template, turn turn-1",
        "policy     allowed, trust 0.80 = no_credentials 0.80; reasons LOOPBACK; at most 3,000 prompt tokens, "
        "9,000 tokens a minute; decision decision-1",
    ]


def test_a_long_span_is_cut_with_an_ellipsis() -> None:
    """A table of a thousand tokens must not push the verdict off the screen."""
    long = Span(Modality.TEXT, 1, "word " * 400, TextOrigin(0, 2000), token_ids=(1,))
    shown = " ".join(lines_of(render.spans(replace(NORMALIZED, spans=(long,))), 2000))
    assert shown.count("word") == 120
    assert "word word  …" in shown


MARKED = "[red]a[/red] :smile: \x1b[31mb\x07\u202ec"
CLEAN = "[red]a[/red] :smile: \ufffd[31mb\ufffd\ufffdc"


@pytest.mark.parametrize(
    "what",
    [
        render.heard(Heard(1, MARKED, True, 0.5, AudioOrigin(0, 1), ())),
        render.seen(Seen(1, "png", 1, 1, (TextLine(MARKED, 1.0, ImageOrigin(0, 0, 1, 1)),), (), ())),
        render.seen(Seen(1, "png", 1, 1, (), (Label("document", MARKED, 1.0),), ())),
        render.read(Read(1, "t", TableProfile("csv", 1, (Column(MARKED, "VARCHAR", 0, 1, "a", "b"),)), ())),
        render.read(Read(1, "t", TableProfile("csv", 1, (Column("x", "VARCHAR", 0, 1, MARKED, "b"),)), ())),
        render.read(Read(1, "t", TableProfile("csv", 1, (Column("x", "VARCHAR", 0, 1, "a", MARKED),)), ())),
        render.spans(Normalized(TURN_ID, (Span(Modality.TEXT, 1, MARKED, TextOrigin(0, 1)),), 1, JUDGEMENT)),
        render.accepted(Accepted(TURN_ID, MARKED, JUDGEMENT)),
        render.verdict(Judgement(Verdict(False, "d", (MARKED,), ""), Trust(1.0, ()))),
    ],
    ids=["transcript", "printed line", "label", "column", "minimum", "maximum", "span", "model", "reason"],
)
def test_what_came_from_elsewhere_is_shown_and_not_obeyed(what: RenderableType) -> None:
    """Neither as rich's markup, nor as emoji, nor by the terminal; text that runs backwards would lie as well."""
    shown = "\n".join(lines_of(what, 300))
    assert CLEAN in shown
    assert "\x1b" not in shown


def test_a_narrow_console_folds_and_loses_nothing() -> None:
    """Long names are folded into more lines, not cut with an ellipsis."""
    name = "a_very_long_column_name_that_no_terminal_has_room_for"
    column = Column(name, "VARCHAR", 0, 1, "first", "last")
    shown = lines_of(render.read(Read(1, "t", TableProfile("csv", 1, (column,)), ())), 50)
    start = next(row for row, line in enumerate(shown) if line.startswith("a_"))
    assert "".join(line.split(" ")[0] for line in shown[start:]) == name
