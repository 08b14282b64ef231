"""The curves as an SVG file that is readable on a light and on a dark ground. Pure."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log2, log10

from headworks.server.load.report import Report
from headworks.server.load.settings import Arrivals
from headworks.server.load.step import Phase, StepResult
from headworks.server.load.tally import Figures, State

_WIDTH, _LEFT, _RIGHT = 880, 90, 230
_PANEL, _GAP, _TOP, _BOTTOM = 190, 60, 78, 60
_STYLE = """
svg { color-scheme: light dark; font: 13px system-ui, sans-serif; }
.ground { fill: #ffffff; } text { fill: #1f2328; } .title { font-size: 17px; font-weight: 600; }
.axis { stroke: #59636e; } .line { stroke: #d1d9e0; } .knee { stroke: #1f2328; stroke-dasharray: 5 4; }
.a { stroke: #0969da; fill: #0969da; } .b { stroke: #8250df; fill: #8250df; } .c { stroke: #bc4c00; fill: #bc4c00; }
.d { stroke: #1a7f37; fill: #1a7f37; }
.curve { fill: none; stroke-width: 2; } .dashed { stroke-dasharray: 7 4; } .dotted { stroke-dasharray: 2 4; }
.mixed { stroke-dasharray: 9 3 2 3; }
@media (prefers-color-scheme: dark) {
  .ground { fill: #0d1117; } text { fill: #f0f6fc; } .axis { stroke: #9198a1; } .line { stroke: #30363d; }
  .knee { stroke: #f0f6fc; } .a { stroke: #58a6ff; fill: #58a6ff; } .b { stroke: #bc8cff; fill: #bc8cff; }
  .c { stroke: #ffa657; fill: #ffa657; } .d { stroke: #3fb950; fill: #3fb950; }
}
"""


@dataclass(frozen=True, slots=True)
class _Curve:
    """One line of a panel. Its dashes tell it from the others where colours do not."""

    name: str
    style: str
    value: Callable[[Figures], float | None]


@dataclass(frozen=True, slots=True)
class _Panel:
    """One diagram of the picture."""

    title: str
    unit: str
    curves: tuple[_Curve, ...]
    is_log: bool = False


_PANELS = (
    _Panel(
        "Goodput: tokens of turns that finished inside their deadline",
        "tokens/s",
        (
            _Curve("goodput", "a", lambda figures: figures.goodput),
            _Curve("all tokens", "b dashed", lambda figures: figures.tokens_per_second),
        ),
    ),
    _Panel(
        "What became of the turns",
        "% of turns",
        (
            _Curve("finished", "a", lambda figures: 100 * figures.good_share),
            _Curve("refused by a limit", "b dashed", lambda figures: 100 * figures.share(State.REFUSED)),
            _Curve("late", "c dotted", lambda figures: 100 * figures.share(State.LATE)),
            _Curve("failed or unsent", "d mixed", lambda figures: 100 * _lost(figures)),
        ),
    ),
    _Panel(
        "Times, from the moment a turn was due",
        "ms",
        (
            _Curve("first token p50", "a", lambda figures: _milliseconds(figures.first_token_p50)),
            _Curve("first token p99", "b dashed", lambda figures: _milliseconds(figures.first_token_p99)),
            _Curve("gap between tokens p99", "c dotted", lambda figures: _milliseconds(figures.gap_p99)),
        ),
        is_log=True,
    ),
)


def picture(report: Report) -> str:
    """Return the picture: three diagrams over the load, with the knee marked. Hollow points are those back at it."""
    results = sorted(report.run.results, key=lambda result: result.step.level)
    height = _TOP + len(_PANELS) * (_PANEL + _GAP) + _BOTTOM - _GAP
    label = "turns offered per second" if report.settings.arrivals is Arrivals.OPEN else "callers at once"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        f"<title>{escape(_headline(report))}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="ground" width="{_WIDTH}" height="{height}"/>',
        _text(20, 28, _headline(report), "title"),
        _text(20, 48, _subtitle(report)),
    ]
    x = _Axis([result.step.level for result in results], _LEFT, _WIDTH - _RIGHT, is_log=True, base=2)
    for number, panel in enumerate(_PANELS):
        parts += _draw(panel, _TOP + number * (_PANEL + _GAP), x, results, report)
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, height - 14, label, anchor="middle"))
    return "\n".join([*parts, "</svg>", ""])


class _Axis:
    """Where a value lies between two ends of the picture."""

    def __init__(
        self, values: Sequence[float], start: float, end: float, *, is_log: bool = False, base: int = 10
    ) -> None:
        self._start, self._end = start, end
        self._log = (log2 if base == 2 else log10) if is_log else None
        self.ticks = self._log_ticks(values, base) if is_log else self._even_ticks(values)
        self._low, self._high = self._scaled(self.ticks[0]), self._scaled(self.ticks[-1])

    def place(self, value: float) -> float:
        """Return the value's place; one below the least tick lies at the end."""
        scaled = self._scaled(max(value, self.ticks[0]))
        share = (scaled - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)

    def _scaled(self, value: float) -> float:
        return self._log(value) if self._log else value

    @staticmethod
    def _even_ticks(values: Sequence[float]) -> list[float]:
        most = max([*values, 0.0]) or 1.0
        step = 10.0 ** floor(log10(most))
        step = next(step * part for part in (0.1, 0.2, 0.5, 1.0, 2.0) if most / (step * part) <= 6)
        return [step * number for number in range(ceil(most / step - 1e-9) + 1)]

    @staticmethod
    def _log_ticks(values: Sequence[float], base: int) -> list[float]:
        seen = [value for value in values if value > 0] or [1.0]
        scale = log2 if base == 2 else log10
        low, high = floor(scale(min(seen)) + 1e-9), ceil(scale(max(seen)) - 1e-9)
        return [float(base) ** power for power in range(low, max(high, low + 1) + 1)]


def _draw(panel: _Panel, top: float, x: _Axis, results: Sequence[StepResult], report: Report) -> Iterator[str]:
    values = [value for result in results for curve in panel.curves if (value := curve.value(result.figures))]
    y = _Axis(values, top + _PANEL, top, is_log=panel.is_log)
    right = _WIDTH - _RIGHT
    yield _text(_LEFT, top - 10, f"{panel.title}, {panel.unit}")
    for tick in y.ticks:
        at = y.place(tick)
        yield f'<line class="line" x1="{_LEFT}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}"/>'
        yield _text(_LEFT - 8, at + 4, f"{tick:,g}", anchor="end")
    for tick in x.ticks:
        yield _text(x.place(tick), top + _PANEL + 18, f"{tick:,g}", anchor="middle")
    yield f'<line class="axis" x1="{_LEFT}" x2="{right}" y1="{top + _PANEL}" y2="{top + _PANEL}"/>'
    yield f'<line class="axis" x1="{_LEFT}" x2="{_LEFT}" y1="{top}" y2="{top + _PANEL}"/>'
    if (knee := report.findings.knee) is not None and knee.is_reached:
        at = x.place(knee.level)
        yield f'<line class="knee" x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{top + _PANEL}"/>'
        yield _text(at + 5, top + 12, "knee")
    for number, curve in enumerate(panel.curves):
        yield from _curve(curve, x, y, results)
        at = top + 10 + 20 * number
        yield f'<line class="curve {curve.style}" x1="{right + 14}" x2="{right + 48}" y1="{at}" y2="{at}"/>'
        yield _text(right + 56, at + 4, curve.name)


def _curve(curve: _Curve, x: _Axis, y: _Axis, results: Sequence[StepResult]) -> Iterator[str]:
    line, colour = [], curve.style[0]
    for result in results:
        if (value := curve.value(result.figures)) is None:
            continue
        place = f"{x.place(result.step.level):.1f}", f"{y.place(value):.1f}"
        if result.step.phase is Phase.BACK:
            yield f'<circle class="{colour}" cx="{place[0]}" cy="{place[1]}" r="5" fill-opacity="0" stroke-width="2"/>'
        else:
            line.append(",".join(place))
            yield f'<circle class="{colour}" cx="{place[0]}" cy="{place[1]}" r="3"/>'
    yield f'<polyline class="curve {curve.style}" points="{" ".join(line)}"/>'


def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    style = f' class="{kind}"' if kind else ""
    return f'<text{style} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _headline(report: Report) -> str:
    knee = report.findings.knee
    if knee is None:
        return "No critical point was found: not even the first level held"
    if not knee.is_reached:
        return f"Critical point not reached at {report.level(knee.level)}"
    return f"Critical point: {report.level(knee.level)}, {knee.goodput:,.0f} tokens/s inside the deadline"


def _subtitle(report: Report) -> str:
    settings = report.settings
    deadline, window = settings.deadline_seconds, settings.window_seconds
    kind = settings.arrivals.value
    return f"{kind} arrivals, deadline {deadline:g} s, windows of {window:g} s; hollow points: back at the knee"


def _lost(figures: Figures) -> float:
    return sum(figures.share(state) for state in (State.FAILED, State.UNSENT))


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000
