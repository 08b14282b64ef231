"""How a caller comes back after a refusal that says when."""

import random
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass

from headworks.server.client.client import CallFailed, HeadworksClient
from headworks.server.clock import Clock, SystemClock
from headworks.server.turn.steps import Chunk, Delta, Event, Setup


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a turn is tried again, and how long is waited before."""

    retries: int = 0
    """Tries after the first one, by default none. A few are enough: a gateway that refuses more often than that is
    short of room for longer than a caller would wait."""
    longest_wait_seconds: float = 60.0
    """A refusal that asks for more is final; the rates of policy count by the minute."""
    jitter: float = 0.25
    """Up to this share of the wait is added by chance, so that callers who were refused together do not come back
    together."""

    def wait_seconds(self, error: CallFailed, tried: int, chance: float) -> float | None:
        """Say how long to wait before the next try; None when there is to be none.

        Args:
            error: How the last try ended.
            tried: Tries so far.
            chance: Drawn evenly from [0, 1).
        """
        told = error.retry_after_seconds
        if told is None or tried > self.retries or told > self.longest_wait_seconds:
            return None
        return told * (1 + self.jitter * chance)


async def converse_patiently(
    client: HeadworksClient,
    setup: Setup,
    make_parts: Callable[[], AsyncGenerator[Chunk, None]],
    patience: Patience,
    on_wait: Callable[[CallFailed, float], None],
    timeout_seconds: float | None = None,
    clock: Clock | None = None,
) -> AsyncGenerator[Event, None]:
    """Run a turn as `HeadworksClient.converse` does, and again after a refusal with RetryInfo.

    After the first token nothing is tried again, since the caller has read half an answer. Each try is a turn of its
    own, with its own events.

    Args:
        make_parts: Makes the input anew for each try.
        on_wait: Told of each refusal that is waited for, with the seconds of the wait.
        timeout_seconds: For all tries and waits together.
    Raises:
        CallFailed: the last try ended in an error.
        Exception: whatever the parts raised.
    """
    clock = clock or SystemClock()
    end = None if timeout_seconds is None else clock.now() + timeout_seconds
    has_token, tried = False, 0
    while True:
        tried += 1
        left = None if end is None else end - clock.now()
        try:
            async with aclosing(client.converse(setup, make_parts(), left)) as events:
                async for event in events:
                    has_token = has_token or isinstance(event, Delta)
                    yield event
        except CallFailed as error:
            wait = None if has_token else patience.wait_seconds(error, tried, random.random())  # noqa: S311  # jitter
            if wait is None or (end is not None and clock.now() + wait >= end):
                raise
            on_wait(error, wait)
        else:
            return
        await clock.sleep(wait)
