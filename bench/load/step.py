"""One load on one server for a stated time, and the figures of it."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

from bench.load.client import LOOK_SECONDS, Client, Load, Report
from bench.load.outcome import Outcome, State
from bench.turn import Timing
from bench.under_test import Server

DEADLINE_SECONDS = 3.0
BUSY_CORES = 0.9
"""A client process is one thread: one that used so much of a core was the limit, or close to it."""
GRACE_SECONDS = 1.0
"""A busy client learns of the end of a call later than it ends."""
_MEMORY_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Plan:
    """How a server is loaded."""

    timing: Timing
    """Of the server's answers."""
    warm_seconds: float = 2.0
    """Left out of every figure."""
    seconds: float = 6.0
    deadline_seconds: float = DEADLINE_SECONDS
    clients: int = 1
    """Processes that share the callers."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Calls that ended in a stretch of time, as one group of clients saw them."""

    seconds: float
    outcomes: list[Outcome]

    @property
    def goodput(self) -> float:
        """Tokens per second of turns that were whole before their deadline."""
        return sum(outcome.tokens for outcome in self._in(State.FINISHED)) / self.seconds

    @property
    def tokens_per_second(self) -> float:
        return sum(outcome.tokens for outcome in self.outcomes) / self.seconds

    def first_tokens(self) -> list[float]:
        """Return seconds from the call to the first token, of every call that got one, however it ended."""
        return [outcome.first for outcome in self.outcomes if outcome.first is not None]

    def refusals(self) -> list[float]:
        """Return seconds from the call to the refusal."""
        return [outcome.seconds for outcome in self._in(State.REFUSED)]

    def states(self) -> Counter[State]:
        return Counter(outcome.state for outcome in self.outcomes)

    def kinds(self) -> Counter[str]:
        """Return how often a call did not finish, by status and reason."""
        return Counter(outcome.kind for outcome in self.outcomes if outcome.kind)

    def _in(self, state: State) -> Iterator[Outcome]:
        return (outcome for outcome in self.outcomes if outcome.state is state)


@dataclass(frozen=True, slots=True)
class Step:
    """One load, measured."""

    callers: int
    seen: Seen
    witnessed: Seen
    """The part of it that a few callers saw whose process did nothing else."""
    server_cores: float
    client_cores: tuple[float, ...]
    """Of each client process but that of the witnesses."""
    lags: list[float]
    resident_mebibytes: float
    """The highest seen."""
    lost: int
    """Calls that were still open long after their deadline, or that have no end at all."""

    @property
    def is_client_bound(self) -> bool:
        return max(self.client_cores) > BUSY_CORES


@dataclass(slots=True)
class _Usage:
    """Of all processes, at one moment."""

    at: float
    server: float
    clients: list[float] = field(default_factory=list)


def run_step(server: Server, plan: Plan, callers: int, witnesses: int = 0) -> Step:
    """Load a server and stop.

    Args:
        witnesses: How many of the callers are in a process of their own.
    """
    others = max(1, callers - witnesses)
    clients = min(plan.clients, others)
    shares = [others // clients + (i < others % clients) for i in range(clients)]
    with ExitStack() as stack:
        running = [stack.enter_context(Client(_load(server, plan, share, i))) for i, share in enumerate(shares)]
        watching = [stack.enter_context(Client(_load(server, plan, witnesses, clients)))] if witnesses else []
        for client in (*running, *watching):
            client.start()
        time.sleep(plan.warm_seconds)
        before = _usage(server, running)
        resident = _highest(server, before.at + plan.seconds)
        after = _usage(server, running)
        reports, witnessed = [[client.stop() for client in group] for group in (running, watching)]
    seconds = after.at - before.at
    return Step(
        callers=others + witnesses,
        seen=seen_by([*reports, *witnessed], before.at, after.at),
        witnessed=seen_by(witnessed, before.at, after.at),
        server_cores=(after.server - before.server) / seconds,
        client_cores=tuple((b - a) / seconds for a, b in zip(before.clients, after.clients, strict=True)),
        lags=[lag for report in reports for lag in _of_window(report, plan)],
        resident_mebibytes=resident,
        lost=sum(lost_calls(report, plan.deadline_seconds) for report in (*reports, *witnessed)),
    )


def seen_by(reports: list[Report], start: float, end: float) -> Seen:
    """Return what ended from `start` until `end`."""
    return Seen(end - start, [o for report in reports for o in report.outcomes if start <= o.ended < end])


def lost_calls(report: Report, deadline_seconds: float) -> int:
    """Return how many calls nobody ended, though their deadline had passed."""
    latest = deadline_seconds + GRACE_SECONDS
    hung = sum(outcome.state is State.LEFT and outcome.seconds > latest for outcome in report.outcomes)
    return hung + report.calls - len(report.outcomes)


def _load(server: Server, plan: Plan, callers: int, seed: int) -> Load:
    stagger = min(plan.warm_seconds, 1.0)
    return Load(server.port, callers, plan.timing.tokens, plan.deadline_seconds, stagger, seed)


def _usage(server: Server, clients: list[Client]) -> _Usage:
    return _Usage(time.monotonic(), server.cpu_seconds(), [client.cpu_seconds() for client in clients])


def _highest(server: Server, until: float) -> float:
    highest = 0.0
    while (left := until - time.monotonic()) > 0:
        highest = max(highest, server.resident_mebibytes())
        time.sleep(min(left, _MEMORY_SECONDS))
    return highest


def _of_window(report: Report, plan: Plan) -> list[float]:
    return report.lags[int(plan.warm_seconds / LOOK_SECONDS) :]
