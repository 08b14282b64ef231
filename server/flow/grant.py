"""One turn's leave to run, and the face that flow shows to it."""

from headworks.server.clock import Clock
from headworks.server.flow.claim import Claim
from headworks.server.flow.fairness.order import Order
from headworks.server.flow.limit import FlowLimit
from headworks.server.flow.pace import Pace
from headworks.server.flow.running import Running
from headworks.server.flow.watch import FlowWatch


class Grant:
    """Held while a turn runs. The turn tells it what it spends as it spends it."""

    def __init__(
        self,
        claim: Claim,
        order: Order,
        running: Running,
        limit: FlowLimit,
        watch: FlowWatch,
        pace: Pace,
        clock: Clock,
    ) -> None:
        self.claim = claim
        self.input_tokens = 0
        """Fed to the engine so far."""
        self.output_tokens = 0
        self.is_finished = False
        """Its answer is whole."""
        self.began_at = clock.now()
        self._order = order
        self._running = running
        self._limit = limit
        self._watch = watch
        self._is_answering = False
        self._pace = pace
        self._clock = clock
        self._last_at = self.began_at

    @property
    def message_wait_seconds(self) -> float:
        """How long to wait after a message of the answer, so that more tokens share the next one."""
        return self._pace.wait_seconds

    def fed(self, tokens: int) -> None:
        """So many more tokens of the prompt go to the engine."""
        self.input_tokens += tokens
        self._running.tokens += tokens
        self._order.charge(self.claim, tokens, 0)

    def input_ended(self) -> None:
        """The engine has the whole prompt."""
        self._last_at = self._clock.now()

    def answered(self, tokens: int, *, is_last: bool) -> None:
        """So many more tokens of the answer came."""
        self.is_finished = is_last
        self._note_answering(is_answering=not is_last)
        if not tokens:
            return
        now = self._clock.now()
        if self.output_tokens:
            gap = (now - self._last_at) / tokens
            self._limit.gaps.add(gap)
            self._watch.gap(gap)
        else:
            self._limit.first_tokens.add(now - self._last_at)
        self._last_at = now
        self.output_tokens += tokens
        self._order.charge(self.claim, 0, tokens)

    def ended(self) -> None:
        """The turn is over, with or without the end of its answer."""
        self._note_answering(is_answering=False)

    def _note_answering(self, *, is_answering: bool) -> None:
        self._running.answering += is_answering - self._is_answering
        self._is_answering = is_answering
