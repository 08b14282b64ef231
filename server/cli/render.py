"""Events as rich renderables, ready to print. Text that came from elsewhere loses its control characters here."""

import re
from collections.abc import Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from headworks.intake.finding import Heard, Read, Seen, best_labels
from headworks.intake.span import AudioOrigin, ImageOrigin, Origin, Span, TableOrigin, TextOrigin
from headworks.server.cli.as_json import tokens_per_second
from headworks.server.turn.steps import Accepted, Finished, Judgement, Normalized

PIPED_WIDTH = 100
"""Columns when standard output is no terminal; a terminal says itself how many it has."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_ROWS_SHOWN = 40
"""Columns, or printed lines, that are shown of one part; --json prints them all."""


def out() -> Console:
    """Return a console on standard output."""
    console = Console(highlight=False, emoji=False, markup=False)
    if not is_screen(console):
        console.width = PIPED_WIDTH
    return console


def is_screen(console: Console) -> bool:
    """Whether a console can draw over what it has written. FORCE_COLOR asks for colours in a pipe, not for that."""
    return console.file.isatty() and not console.is_dumb_terminal


def printable(text: str) -> str:
    """Replace control characters, so that no transcript, picture or answer can steer the terminal."""
    return _CONTROL.sub("\ufffd", text)


def grid(*headings: str, title: str = "") -> Table:
    """Return an empty table that looks like all others here; a heading that starts with ">" is right-aligned."""
    table = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", title_style="bold", pad_edge=False)
    for heading in headings:
        is_number = heading.startswith(">")
        table.add_column(heading.lstrip(">"), justify="right" if is_number else "left", overflow="fold")
    return table


def note(label: str, text: str | Text, style: str = "cyan") -> Text:
    """Return one line: a label, then the text."""
    return Text.assemble((f"{label:<10} ", style), text)


def accepted(event: Accepted) -> RenderableType:
    """Say which turn was opened, and what policy decided."""
    turn = note("turn", printable(f"{event.turn_id}, answered by {event.model}"), "bold cyan")
    return Group(turn, verdict(event.judgement))


def verdict(judgement: Judgement) -> Text:
    """Say what policy decided, and on what trust."""
    decision, trust = judgement.verdict, judgement.trust
    factors = " = " + " x ".join(f"{name} {value:.2f}" for name, value in trust.factors) if trust.factors else ""
    reasons = f"; reasons {', '.join(decision.reasons)}" if decision.reasons else ""
    held = decision.obligations
    ceilings = [
        f"{value:,} {what}"
        for value, what in (
            (held.max_input_tokens, "prompt tokens"),
            (held.max_output_tokens, "answer tokens"),
            (held.turns_per_second, "turns a second"),
            (held.turns_per_minute, "turns a minute"),
            (held.turns_per_day, "turns a day"),
            (held.tokens_per_second, "tokens a second"),
            (held.tokens_per_minute, "tokens a minute"),
            (held.tokens_per_day, "tokens a day"),
            (held.max_concurrent_turns, "turns at once"),
        )
        if value is not None
    ]
    ceiling = f"; at most {', '.join(ceilings)}" if ceilings else ""
    word = ("allowed", "green") if decision.allow else ("refused", "bold red")
    rest = f", trust {trust.score:.2f}{factors}{reasons}{ceiling}; decision {decision.decision_id}"
    return note("policy", Text.assemble(word, printable(rest)))


def heard(finding: Heard) -> Text:
    """Say which words were heard, when, and how sure that is."""
    words = printable(finding.transcript) or "(nothing that could be made out)"
    where = f"  {origin(finding.origin)}, confidence {finding.confidence:.2f}"
    return note(f"heard {finding.part}", Text.assemble((words, "" if finding.is_final else "dim"), (where, "dim")))


def seen(finding: Seen) -> RenderableType:
    """Show the best label of each set, and a picture's printed lines."""
    size = f"{finding.format.upper()}, {finding.width} x {finding.height} pixels, {len(finding.lines)} printed lines"
    parts: list[RenderableType] = [note(f"seen {finding.part}", printable(size))]
    if finding.labels:
        best = best_labels(finding.labels, 1)
        said = ", ".join(f"{label.set_name}: {label.name} {label.score:.2f}" for label in best)
        parts.append(note("labels", printable(said)))
    if finding.lines:
        table = grid("printed line", ">confidence", "box (pixels)")
        for line in finding.lines[:_ROWS_SHOWN]:
            table.add_row(printable(line.text), f"{line.confidence:.2f}", origin(line.box))
        parts.append(table)
        parts += _more(len(finding.lines), "lines")
    return Group(*parts)


def read(finding: Read) -> RenderableType:
    """Show a table's profile."""
    profile = finding.profile
    size = f"{profile.format.upper()}, {profile.rows:,} rows, {len(profile.columns)} columns, id {finding.table_id}"
    table = grid("column", "type", ">nulls", ">distinct", ">minimum", ">maximum")
    for column in profile.columns[:_ROWS_SHOWN]:
        ends = ("-" if end is None else printable(end) for end in (column.minimum, column.maximum))
        table.add_row(printable(column.name), column.type, f"{column.nulls:,}", f"{column.distinct:,}", *ends)
    return Group(note(f"read {finding.part}", printable(size)), table, *_more(len(profile.columns), "columns"))


def finished(event: Finished) -> RenderableType:
    """Show where the time went, and what was used."""
    timings, usage = event.timings, event.usage
    table = grid("step", ">time", title="Timings")
    table.add_row("accept", _time(timings.accept))
    table.add_row("policy, all judgements", _time(timings.policy))
    for modality, seconds in timings.intake:
        table.add_row(f"intake of {modality.value}, after its last byte", _time(seconds))
    table.add_row("queue", _time(timings.queue))
    table.add_row("end of input to first token", _time(timings.first_token))
    table.add_row("first token to last", _time(timings.generation))
    rate = tokens_per_second(event)
    table.add_row("tokens per second", "-" if rate is None else f"{rate:.1f}")
    left = usage.remaining_tokens_per_minute
    rest = "" if left is None else f"; {left:,} tokens left this minute"
    why = {"stop": "the model ended it", "length": "the token ceiling was reached"}[event.reason.value]
    used = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out{rest}; {why}"
    return Group(verdict(event.judgement), note("usage", used), Text(), table)


def spans(normalized: Normalized) -> RenderableType:
    """Show every span with its origin."""
    table = grid("span", "origin", ">confidence", ">tokens", "text")
    for span in normalized.spans:
        confidence = "-" if span.confidence is None else f"{span.confidence:.2f}"
        name = f"{span.modality.value} {span.part}"
        table.add_row(name, origin(span.origin), confidence, str(len(span.token_ids)), _cut(span))
    total = note("prompt", f"{normalized.prompt_tokens:,} tokens with the chat template, turn {normalized.turn_id}")
    return Group(table, total, verdict(normalized.judgement))


def origin(place: Origin) -> str:
    """Say from which place of its part something came."""
    match place:
        case TextOrigin(start, end):
            return f"characters {start}-{end}"
        case AudioOrigin(start, end):
            return f"{start / 1000:.2f}-{end / 1000:.2f} s"
        case ImageOrigin():
            return f"{place.left},{place.top} - {place.right},{place.bottom}"
        case TableOrigin(first, end, columns):
            return f"rows {first}-{end}, {len(columns)} columns"


def _cut(span: Span) -> str:
    text = printable(span.text.strip())
    return text if len(text) <= 600 else text[:600] + " …"


def _more(count: int, what: str) -> Sequence[RenderableType]:
    hidden = count - _ROWS_SHOWN
    return (Text(f"… and {hidden} more {what}; --json prints them all", style="dim"),) if hidden > 0 else ()


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"
