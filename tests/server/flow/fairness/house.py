"""A house with a few places, in which turns spend one token at each step. No time but the steps."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from headworks.server.flow.fairness.order import Entry, Order


@dataclass(frozen=True, slots=True)
class Guest:
    """A tenant whose turns are all alike."""

    name: str
    input_tokens: int = 20
    output_tokens: int = 10
    weight: float = 1.0
    callers: int = 1

    def cost(self, input_price: float = 1.0, output_price: float = 2.0) -> float:
        """Of one turn, as the settings' defaults price it."""
        return self.input_tokens * input_price + self.output_tokens * output_price


@dataclass
class House:
    """Runs turns as an engine does: the prompt at once, then one token of the answer a step."""

    order: Order
    places: int
    may_run: Callable[[Entry], bool] = lambda _: True
    running: dict[Entry, int] = field(default_factory=dict)
    """Tokens of the answer that are still to come."""
    spent: Counter[str] = field(default_factory=Counter)
    """Priced tokens, by tenant."""
    begun: list[Entry] = field(default_factory=list)
    """In the order in which they began to run."""
    waiting: Counter[str] = field(default_factory=Counter)
    now: int = 0
    guests: dict[Entry, Guest] = field(default_factory=dict)

    def come(self, guest: Guest, caller: int = 0) -> Entry:
        """One more turn waits."""
        ceiling = guest.output_tokens * 2
        one = Entry(
            tenant=guest.name, caller=f"c{caller}", weight=guest.weight, tokens=ceiling, joined_at=float(self.now)
        )
        self.guests[one] = guest
        self.order.join(one)
        self.waiting[guest.name] += 1
        return one

    def keep_waiting(self, guest: Guest, turns: int) -> None:
        """Let a tenant have at least so many turns in line, by its callers in turn."""
        for number in range(turns - self.waiting[guest.name]):
            self.come(guest, (self.now + number) % guest.callers)

    def step(self) -> None:
        """Fill the places, then spend one token each."""
        self.now += 1
        for one in self._fill():
            guest = self.guests[one]
            self.waiting[one.tenant] -= 1
            self.begun.append(one)
            self.running[one] = guest.output_tokens
            self.order.charge(one, guest.input_tokens, 0)
            self.spent[one.tenant] += guest.input_tokens
        for one in list(self.running):
            if self.running[one]:
                self.running[one] -= 1
                self.order.charge(one, 0, 1)
                self.spent[one.tenant] += 2
            if not self.running[one]:
                del self.running[one]
                self.order.ended(one)

    def _fill(self) -> Iterator[Entry]:
        while len(self.running) < self.places and (one := self.order.next(self.may_run)) is not None:
            yield one
