"""The gateway's own admission, as turns of text come to it."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from bench.fairness.engine import Leave, Turn
from headworks.server.clock import Clock
from headworks.server.engine.engine import EngineLoad
from headworks.server.flow.admission import Admission
from headworks.server.flow.claim import Claim
from headworks.server.flow.settings import FlowSettings

PEER = "proxy"
"""All come from one host."""


class Door(Protocol):
    """What stands before the engine."""

    def enter(self, turn: Turn) -> AbstractAsyncContextManager[Leave]:
        """Hold a place for the length of the block, after a wait.

        Raises:
            TooMany, TooLate: it may not run now.
        """
        ...


class Gateway:
    """Goes through admission as the doors and the turn do: a knock, a stay in the lobby, a permit.

    Nothing looks at the load, so that the limit on turns stays where it begins and orders can be compared.
    """

    def __init__(self, flow: FlowSettings, clock: Clock, load: Callable[[], EngineLoad]) -> None:
        self._admission = Admission(flow, clock, load)
        self._clock = clock

    @asynccontextmanager
    async def enter(self, turn: Turn) -> AsyncGenerator[Leave, None]:
        # Before policy was asked nobody knows the tenant's weight, and at the knock not even the answer's ceiling.
        self._admission.knock(self._claim(turn, tokens=0))
        async with self._admission.lobby.stay(turn.tenant, PEER) as call:
            self._admission.expect(self._claim(turn, tokens=turn.ceiling), call)
        async with self._admission.grant(self._claim(turn, tokens=turn.ceiling, weight=turn.weight)) as grant:
            yield grant

    def _claim(self, turn: Turn, tokens: int, weight: float = 1.0) -> Claim:
        return Claim(tenant=turn.tenant, weight=weight, tokens=tokens, joined_at=self._clock.now(), peer=PEER)
