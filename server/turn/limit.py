"""Limits in time: on a turn as a whole, and on the wait for its next step."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from headworks.server.clock import Clock
from headworks.server.turn.errors import TurnTimedOut
from headworks.server.turn.steps import Step


@dataclass(frozen=True, slots=True)
class TurnLimit:
    """The time that a turn has, from the call to its last event."""

    name: str
    """"deadline" is the caller's own, any other the setting."""
    seconds: float


async def next_step(steps: AsyncIterator[Step], seconds: float, limit: str, clock: Clock) -> Step | None:
    """Return the next step, or None at the end.

    Raises:
        TurnTimedOut: none came in time; names `limit`.
    """
    try:
        async with clock.timeout(seconds):
            return await anext(steps, None)
    except TimeoutError as error:
        raise TurnTimedOut(limit) from error
