"""What is shown of a run: live curves on a terminal, a line for each step in a pipe, and the table at the end."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from headworks.server.cli.render import grid, is_screen, out, printable
from headworks.server.load.moment import Moment
from headworks.server.load.report import Report
from headworks.server.load.settings import Arrivals
from headworks.server.load.step import StepResult
from headworks.server.load.tally import Figures, State

SECONDS_SHOWN = 60
"""Of each live curve."""
_BARS = " ▁▂▃▄▅▆▇█"
_REFRESH_PER_SECOND = 4
_TITLE = """What each step brought. load: {}; tokens/s and good: of turns inside their deadline
p50, p99: first token; gap: p99 between tokens; CPU, lag: of this client. Times in ms
"*": the run ended within the step; "!": this client was the limit"""
_CURVES: Sequence[tuple[str, str, Callable[[Moment], float | None]]] = (
    ("offered", "turns/s", lambda moment: moment.offered),
    ("finished", "turns/s", lambda moment: moment.finished),
    ("goodput", "tokens/s", lambda moment: moment.goodput),
    ("refused", "calls/s", lambda moment: moment.refused),
    ("late", "turns/s", lambda moment: moment.late),
    ("failed", "turns/s", lambda moment: moment.failed),
    ("first token p50", "ms", lambda moment: _milliseconds(moment.first_token_p50)),
    ("first token p99", "ms", lambda moment: _milliseconds(moment.first_token_p99)),
    ("gap p99", "ms", lambda moment: _milliseconds(moment.gap_p99)),
    ("open turns", "", lambda moment: float(moment.open_turns)),
)


class LoadView:
    """It is told of moments and steps while a run goes on. Use it as a context manager."""

    def __init__(self, level: Callable[[float], str], console: Console | None = None) -> None:
        """Take what writes a level with its unit."""
        self._level = level
        self._console = console or out()
        self._moments: deque[Moment] = deque(maxlen=SECONDS_SHOWN)
        self._live: Live | None = None
        if is_screen(self._console):
            self._live = Live(
                get_renderable=self._curves,
                console=self._console,
                transient=True,
                refresh_per_second=_REFRESH_PER_SECOND,
            )

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show_moment(self, moment: Moment) -> None:
        """Draw one more second."""
        self._moments.append(moment)

    def show_result(self, result: StepResult) -> None:
        """Print one line about a step."""
        figures = result.figures
        parts = [
            f"{result.step.phase.value:<6} {self._level(result.step.level):>15}:",
            f"{figures.goodput:,.0f} tokens/s inside the deadline,",
            f"{figures.good_share:.0%} of {figures.offered:,} turns finished",
        ]
        if figures.first_token_p99 is not None:
            parts.append(f"(first token p99 {_milliseconds(figures.first_token_p99):,.0f} ms)")
        self._console.print(Text(" ".join(parts), style="dim"), soft_wrap=True)

    def show_report(self, report: Report) -> None:
        """Print the table, and the sentences of what was found."""
        if report.run.results:
            self._console.print(steps_table(report), soft_wrap=False)
        if len(report.tenants) > 1 and report.run.results:
            self._console.print(tenants_table(report))
        for what in _reasons(report.run.total):
            self._console.print(Text(printable(what), style="dim"), soft_wrap=True)
        for sentence in report.sentences():
            self._console.print(Text(printable(sentence)), soft_wrap=True)

    def _curves(self) -> RenderableType:
        if not self._moments:
            return Text("the first second", style="dim")
        last = self._moments[-1]
        table = Table.grid(padding=(0, 2))
        for _ in range(2):
            table.add_column(no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        width = max(10, min(SECONDS_SHOWN, self._console.width - 36))
        for name, unit, value in _CURVES:
            values = [value(moment) for moment in self._moments][-width:]
            now = "-" if values[-1] is None else f"{values[-1]:,.0f} {unit}"
            table.add_row(Text(name, style="cyan"), sparkline(values).rjust(width), now)
        step = last.step
        what = f"{step.phase.value}, {self._level(step.level)}" if step else "before the first step"
        return Group(Text(f"{last.at_seconds:,.0f} s: {what}; Ctrl-C ends the run with its table", style="bold"), table)


def sparkline(values: Sequence[float | None]) -> str:
    """Draw values as bars from 0 to the greatest; nothing where there is none."""
    most = max((value for value in values if value is not None), default=0.0)
    if most <= 0:
        return _BARS[0] * len(values)
    top = len(_BARS) - 1
    return "".join(_BARS[0] if value is None else _BARS[round(top * value / most)] for value in values)


def steps_table(report: Report) -> Table:
    """Return a row for each step, in the order of time."""
    unit = "turns/s" if report.settings.arrivals is Arrivals.OPEN else "callers"
    table = grid(
        *("step", ">load", ">turns", ">tokens/s", ">good", ">refused", ">late", ">failed"),
        *(">p50", ">p99", ">gap", ">CPU", ">lag"),
        title=_TITLE.format(unit),
    )
    table.padding = (0, 1, 0, 0)
    for result in report.run.results:
        figures, strain = result.figures, result.strain
        lost = sum(figures.share(state) for state in (State.FAILED, State.UNSENT))
        table.add_row(
            result.step.phase.value + ("" if result.is_whole else " *"),
            f"{result.step.level:g}",
            f"{figures.offered:,}",
            f"{figures.goodput:,.0f}",
            f"{figures.good_share:.0%}",
            f"{figures.share(State.REFUSED):.0%}",
            f"{figures.share(State.LATE):.0%}",
            f"{lost:.0%}",
            _figure(figures.first_token_p50),
            _figure(figures.first_token_p99),
            _figure(figures.gap_p99),
            f"{strain.cpu_cores:.2f}",
            _figure(strain.lag_p99) + (" !" if result.is_client_limit else ""),
        )
    return table


def tenants_table(report: Report) -> Table:
    """Return a row for each tenant in each step."""
    table = grid("step", ">level", "tenant", ">turns", ">goodput tok/s", ">finished", ">refused", ">first token p99 ms")
    for result in report.run.results:
        for name, figures in result.tenants:
            table.add_row(
                result.step.phase.value,
                f"{result.step.level:g}",
                printable(name),
                f"{figures.offered:,}",
                f"{figures.goodput:,.0f}",
                f"{figures.good_share:.0%}",
                f"{figures.share(State.REFUSED):.0%}",
                _figure(figures.first_token_p99),
            )
    return table


def _reasons(total: Figures) -> Iterator[str]:
    """Account for every turn of the run."""
    states = ", ".join(f"{total.counts[state]:,} {state.value}" for state in State if total.counts[state])
    yield f"All {total.offered:,} turns, warm-ups included: {states or 'none'}; {total.tries:,} calls."
    for limit, count in total.refusals:
        yield f"Calls refused by {limit}: {count:,}."
    for state, why, count in total.reasons:
        if state is not State.REFUSED:
            yield f"Turns {state.value}, {why}: {count:,}."


def _figure(seconds: float | None) -> str:
    value = _milliseconds(seconds)
    return "-" if value is None else f"{value:,.1f}" if value < 10 else f"{value:,.0f}"


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000
