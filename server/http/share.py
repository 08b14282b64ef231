"""Shares out a bounded quantity, so that nobody gets so much that nothing is left for others."""

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bound:
    """A limit, and the name of its setting."""

    setting: str
    allowed: int


class Full(Exception):
    """Less is left than was asked for.

    Args:
        bound: The limit that was met.
        is_own: The holder has its part, while others may still get theirs.
    """

    def __init__(self, bound: Bound, *, is_own: bool) -> None:
        super().__init__(f"{bound.setting} allows {bound.allowed}")
        self.is_own = is_own


class Share:
    """Counts what is held, in all and by each holder; a holder that holds nothing is forgotten."""

    def __init__(self, whole: Bound, part: Bound) -> None:
        """Share out a quantity.

        Args:
            whole: What all holders may have together.
            part: What one holder may have.
        """
        self._whole = whole
        self._part = part
        self._held = 0
        self._by_holder: Counter[str] = Counter()

    def take(self, amount: int, *holders: str) -> None:
        """Let the holders have more. One taker may be several of them (a peer and a tenant); each is counted in full.

        Raises:
            Full: it would be over a limit, and nothing was taken.
        """
        if any(self._by_holder[holder] + amount > self._part.allowed for holder in holders):
            raise Full(self._part, is_own=True)
        if self._held + amount > self._whole.allowed:
            raise Full(self._whole, is_own=False)
        self._held += amount
        self._by_holder.update(dict.fromkeys(holders, amount))

    def give_back(self, amount: int, *holders: str) -> None:
        """Take back so much of what the holders took."""
        self._held -= amount
        for holder in holders:
            self._by_holder[holder] -= amount
            if not self._by_holder[holder]:
                del self._by_holder[holder]

    @contextmanager
    def hold(self, amount: int, *holders: str) -> Generator[None, None, None]:
        """Take for the length of the block. Raises as `take`."""
        self.take(amount, *holders)
        try:
            yield
        finally:
            self.give_back(amount, *holders)
