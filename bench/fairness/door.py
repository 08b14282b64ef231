"""What stands before the engine: places, a bounded line, and an order."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from bench.fairness.engine import Step, Turn
from headworks.server.flow.fairness.order import Entry, Order


class Room(StrEnum):
    """Who may take one of the places that are kept above the rest."""

    NOBODY = "none"
    NEWCOMERS = "for tenants that run nothing"
    BELOW_SHARE = "for tenants below their share"


@dataclass(frozen=True, slots=True)
class DoorSettings:
    """The bounds. A gateway finds its places itself; here they stand still."""

    places: int = 16
    room: Room = Room.NOBODY
    room_places: int = 2
    """Kept above the others: an eighth."""
    max_waiting: int = 256
    """A tenant may have as many as there are places left in the line."""


class Door(Protocol):
    """Lets turns in."""

    def came(self, turn: Turn) -> None:
        """A turn wants to run; it may be refused."""
        ...

    def let_in(self) -> list[Turn]:
        """Return those that run from now on."""
        ...

    def spent(self, step: Step) -> None:
        """The engine made a step."""
        ...

    def left(self, turn: Turn) -> None:
        """A turn is over."""
        ...

    def waiting(self, tenant: str) -> int:
        """Turns of a tenant in line."""
        ...


class OrderDoor:
    """Drives an order as admission does."""

    def __init__(self, order: Order, settings: DoorSettings) -> None:
        self._order = order
        self._settings = settings
        self._turns: dict[Entry, Turn] = {}
        self._waiting: Counter[str] = Counter()
        self._running: Counter[str] = Counter()

    def came(self, turn: Turn) -> None:
        tenant = turn.entry.tenant
        if self._waiting[tenant] < self._settings.max_waiting - len(self._order):
            self._turns[turn.entry] = turn
            self._waiting[tenant] += 1
            self._order.join(turn.entry)

    def let_in(self) -> list[Turn]:
        taken: list[Turn] = []
        while (entry := self._order.next(self._may_run)) is not None:
            self._waiting[entry.tenant] -= 1
            self._running[entry.tenant] += 1
            taken.append(self._turns[entry])
        return taken

    def spent(self, step: Step) -> None:
        for turn, tokens in step.read.items():
            self._order.charge(turn.entry, tokens, 0)
        for turn in step.answered:
            self._order.charge(turn.entry, 0, 1)

    def left(self, turn: Turn) -> None:
        self._running[turn.entry.tenant] -= 1
        self._order.ended(turn.entry)
        del self._turns[turn.entry]

    def waiting(self, tenant: str) -> int:
        return self._waiting[tenant]

    def _may_run(self, entry: Entry) -> bool:
        settings, running = self._settings, self._running.total()
        return running < settings.places + self._room_for(entry.tenant)

    def _room_for(self, tenant: str) -> int:
        own, settings = self._running[tenant], self._settings
        tenants = {name for counts in (self._running, self._waiting) for name in counts if counts[name]} | {tenant}
        match settings.room:
            case Room.NEWCOMERS:
                has_room = own == 0
            case Room.BELOW_SHARE:
                has_room = own < settings.places // len(tenants)
            case Room.NOBODY:
                has_room = False
        return settings.room_places if has_room else 0
