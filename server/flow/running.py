"""What runs now, counted by whom it is for."""

from collections import Counter

from headworks.server.flow.claim import Claim
from headworks.server.flow.service_class import ServiceClass


class Running:
    """Counts the turns that hold a permit, and the tokens that they may come to."""

    def __init__(self) -> None:
        self.turns = 0
        self.tokens = 0
        """Of their prompts so far, and of the ceilings of their answers."""
        self.answering = 0
        """Turns whose answer has begun and not ended."""
        self.most_turns = 0
        """The most at once since `most_since` was called."""
        self.by_class: Counter[ServiceClass] = Counter()
        self.by_tenant: Counter[str] = Counter()
        self.by_peer: Counter[str] = Counter()

    def add(self, claim: Claim) -> None:
        """A turn begins to run."""
        self._count(claim, 1)
        self.most_turns = max(self.most_turns, self.turns)

    def remove(self, claim: Claim, input_tokens: int) -> None:
        """A turn has ended that had fed so many tokens."""
        self._count(claim, -1)
        self.tokens -= input_tokens
        for counts, key in ((self.by_tenant, claim.tenant), (self.by_peer, claim.peer)):
            if not counts[key]:
                del counts[key]

    def most_since(self) -> int:
        """Return the most turns at once since the last call."""
        most, self.most_turns = self.most_turns, self.turns
        return most

    def _count(self, claim: Claim, one: int) -> None:
        self.turns += one
        self.tokens += one * claim.tokens
        self.by_class[claim.service_class] += one
        self.by_tenant[claim.tenant] += one
        self.by_peer[claim.peer] += one
