"""What the facade needs from the gateway. The adapters stand in `server/main.py`."""

from dataclasses import dataclass, field
from typing import Protocol

from headworks.intake.finding import TableProfile
from headworks.intake.table.filters import Filter
from headworks.policy.identity.caller import Caller
from headworks.policy.verdict import Verdict


@dataclass(frozen=True, slots=True)
class TableView:
    """A stored table as its owner may see it."""

    table_id: str
    profile: TableProfile


@dataclass(frozen=True, slots=True)
class RowsRequest:
    """One page of a table's rows, in the order of the upload."""

    table_id: str
    filters: tuple[Filter, ...]
    first: int
    """At most this many rows, from 1."""
    after: int | None
    """Only rows whose number is greater; None starts at the first row."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row."""

    number: int
    """Where the row stands in the table as it was sent, from 0; filters do not change it."""
    values: tuple[str | None, ...]
    """In the order of the profile's columns, cast to text; None is null."""


@dataclass(frozen=True, slots=True)
class RowPage:
    """Rows in ascending order of their numbers."""

    rows: tuple[Row, ...]
    has_next: bool
    """True when a row after the last one matches too."""


@dataclass(frozen=True, slots=True)
class FilterFault:
    """A filter that the table cannot be asked."""

    filter: int | None
    """Which one, from 0; None where only the whole condition was seen to fail."""
    message: str
    """One sentence for the caller."""


class Tables(Protocol):
    """The tables that turns left behind."""

    async def tables(self, table_ids: tuple[str, ...], caller: Caller) -> tuple[TableView | None, ...]:
        """Look tables up.

        Returns:
            As many as asked for, in that order; None for a table that does not exist, is gone, or is not the
            caller's, so that nobody can tell these apart.
        """
        ...

    async def rows(self, request: RowsRequest, caller: Caller) -> RowPage | FilterFault | None:
        """Read a page. None is as for `tables`."""
        ...


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """A whole turn of text."""

    texts: tuple[str, ...]
    """One text part each."""
    purpose: str = ""
    """What the caller says the turn is for."""
    instructions: str = ""
    """The system role's text; "" for the model's own."""
    max_output_tokens: int | None = None
    """None for the gateway's default."""
    temperature: float | None = None
    """None or 0 is greedy."""
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """The turn ended well."""

    turn_id: str
    text: str
    finish_reason: str
    """In UPPER_SNAKE, as the contract's enum names it without its prefix ("STOP", "LENGTH")."""
    input_tokens: int
    output_tokens: int
    verdict: Verdict
    """The last one that let the turn go on."""
    trust: float
    """The score that this verdict rests on, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Policy refused the turn."""

    decision_id: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn did not come to an end."""

    code: str
    """The reason as the contract names it ("TOO_LARGE", "ENGINE_UNAVAILABLE")."""
    message: str
    """What a gRPC client would have read in the status."""
    turn_id: str = ""
    """"" when the turn was never opened."""


TurnOutcome = Finished | Refused | Failed


class Turns(Protocol):
    """Runs turns by the same rules as the gRPC service."""

    async def run(self, caller: Caller, turn: TurnRequest) -> TurnOutcome:
        """Run one turn to its end; cancelling the call ends the turn and tells the engine."""
        ...


@dataclass(frozen=True, slots=True)
class ResolverFault:
    """An exception that no type of the schema stands for; the caller got a fixed text instead."""

    error_type: str
    stack: tuple[str, ...] = field(default=())
    """"file:line function", outermost first; never the message, which may hold content."""


class GraphqlObserver(Protocol):
    """Is told what the graph's users are not."""

    def resolver_failed(self, fault: ResolverFault) -> None:
        """Take note; must not raise."""
        ...
