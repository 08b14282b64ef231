"""What is shown of a turn while it runs: a live display on a terminal, plain lines in a pipe, or JSON lines."""

from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from headworks.intake.finding import Finding, Heard, Read, Seen
from headworks.server.cli import render
from headworks.server.cli.as_json import event_fields, normalized_fields, print_json
from headworks.server.turn.steps import Accepted, Delta, Event, Finished, Found, Normalized

_REFRESH_PER_SECOND = 8


class TurnView(Protocol):
    """It is told of a turn's events in their order. Use it as a context manager."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def show(self, event: Event) -> None:
        """Print one event."""
        ...

    def show_spans(self, normalized: Normalized) -> None:
        """Print the outcome of a normalisation."""
        ...

    def say(self, sentence: str) -> None:
        """Print a remark for people; a view for programs leaves it out."""
        ...

    def sent(self, name: str, done: int, total: int | None) -> None:
        """Show how far a part is on its way.

        Args:
            name: What people call the part.
            done: Bytes sent so far, or milliseconds of what was spoken.
            total: The same of the whole; None while nobody knows.
        """
        ...


class JsonView:
    """It prints one JSON object per line, in the order of the events."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: nothing is held."""

    def show(self, event: Event) -> None:
        """See `TurnView`."""
        print_json(event_fields(event))

    def show_spans(self, normalized: Normalized) -> None:
        """See `TurnView`."""
        print_json(normalized_fields(normalized))

    def say(self, sentence: str) -> None:
        """Say nothing."""

    def sent(self, name: str, done: int, total: int | None) -> None:
        """Say nothing."""


class TextView:
    """It prints what is final, line by line. On a terminal, partial transcripts and progress are redrawn below that."""

    def __init__(self, console: Console, *, is_screen: bool) -> None:
        self._console = console
        self._sending: Text = Text("connecting", style="dim")
        self._partial: Text | None = None
        self._is_answering = False
        self._live: Live | None = None
        if is_screen:
            self._live = Live(
                get_renderable=self._below, console=console, transient=True, refresh_per_second=_REFRESH_PER_SECOND
            )

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end_answer()
        if self._live is not None:
            self._live.stop()

    def show(self, event: Event) -> None:
        """See `TurnView`."""
        match event:
            case Delta():
                self._answer(event.text)
            case Accepted():
                self._print(render.accepted(event))
            case Found(finding):
                self._found(finding)
            case Finished():
                self._print(render.finished(event))

    def show_spans(self, normalized: Normalized) -> None:
        """See `TurnView`."""
        self._print(render.spans(normalized))

    def say(self, sentence: str) -> None:
        """See `TurnView`."""
        self._print(Text(sentence, style="dim"))

    def sent(self, name: str, done: int, total: int | None) -> None:
        """See `TurnView`."""
        if total is None:
            what = f"sending {name}, {done / 1e6:,.1f} MB so far"
        elif done >= total:
            what = f"{name} is sent; waiting for what comes of it"
        else:
            what = f"sending {name} {100 * done // total} %"
        self._sending = Text(render.printable(what), style="dim")

    def _found(self, finding: Finding) -> None:
        match finding:
            case Heard(is_final=False):
                self._partial = render.heard(finding)
            case Heard():
                self._partial = None
                self._print(render.heard(finding))
            case Seen():
                self._print(render.seen(finding))
            case Read():
                self._print(render.read(finding))

    def _answer(self, text: str) -> None:
        if not self._is_answering:
            self._is_answering = True
            if self._live is not None:
                self._live.stop()
            self._console.print(Text("answer", style="bold cyan"))
        self._console.print(Text(render.printable(text)), end="", soft_wrap=True)

    def _print(self, what: RenderableType) -> None:
        self._end_answer()
        self._console.print(what)

    def _end_answer(self) -> None:
        if self._is_answering:
            self._is_answering = False
            self._console.print("\n")

    def _below(self) -> RenderableType:
        waiting = Spinner("dots", text=self._sending)
        return Group(self._partial, waiting) if self._partial else waiting


def view_for(*, is_json: bool) -> TurnView:
    """Return the view that the command line asks for."""
    if is_json:
        return JsonView()
    console = render.out()
    return TextView(console, is_screen=render.is_screen(console))
