"""The port through which the graph reports faults. Its adapter is `AccessLog` in `server/http/access_log.py`."""

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ResolverFault:
    """An exception that no type of the schema stands for; the caller got a fixed text instead."""

    error_type: str
    stack: tuple[str, ...] = field(default=())
    """"file:line function", outermost first; never the message, which may hold content."""


class GraphqlObserver(Protocol):
    """The port that is told what the graph's users are not told."""

    def resolver_failed(self, fault: ResolverFault) -> None:
        """Take note; must not raise."""
        ...
