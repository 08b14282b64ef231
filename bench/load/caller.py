"""One caller of a closed loop: one call after the other, with the pauses that refusals ask for."""

import asyncio
import random
import time

import grpc

from bench.load.outcome import Outcome, State, outcome_of, retry_seconds
from bench.turn import request_bytes
from bench.wire import Converse
from headworks.v1 import turn_pb2 as pb

FIRST_BACKOFF_SECONDS = 0.1
MAX_BACKOFF_SECONDS = 1.6
JITTER = (0.75, 1.25)
"""Of a pause that no server asked for, so that the callers do not march in step."""


class Caller:
    """Calls until it is cancelled. A call that is open then is hung up."""

    def __init__(
        self, channel: grpc.aio.Channel, tokens: int, deadline_seconds: float, outcomes: list[Outcome], seed: int
    ) -> None:
        """Make a caller.

        Args:
            tokens: Length of a whole answer; a shorter one counts as failed.
            outcomes: Takes each call's end.
        """
        self._open = channel.stream_stream(Converse.method)
        self._requests = request_bytes()
        self._tokens = tokens
        self._deadline_seconds = deadline_seconds
        self._outcomes = outcomes
        self._random = random.Random(seed)
        self._backoff_seconds = FIRST_BACKOFF_SECONDS
        self.calls = 0
        """Begun."""
        self.is_leaving = False
        """Set before it is cancelled, so that it opens no further call."""

    async def run(self, stagger_seconds: float) -> None:
        """Begin at a random moment of that time."""
        await asyncio.sleep(self._random.random() * stagger_seconds)
        while not self.is_leaving:
            outcome = await self._call()
            self._outcomes.append(outcome)
            if pause := self._pause_seconds(outcome):
                await asyncio.sleep(pause)

    async def _call(self) -> Outcome:
        self.calls += 1
        began, first, tokens, is_whole = time.monotonic(), None, 0, False
        call = self._open(iter(self._requests), timeout=self._deadline_seconds)
        try:
            async for data in call:
                reply = pb.ConverseResponse.FromString(data)
                if count := len(reply.delta.token_ids):
                    first = time.monotonic() - began if first is None else first
                    tokens += count
                else:
                    is_whole = reply.HasField("finished")
        except grpc.aio.AioRpcError as error:
            ended = time.monotonic()
            state, kind = outcome_of(error, ended - began, self._deadline_seconds, tokens)
            return Outcome(state, kind, began, ended, first, tokens, retry_seconds(error))
        except asyncio.CancelledError:
            call.cancel()
            self._outcomes.append(Outcome(State.LEFT, "", began, time.monotonic(), first, tokens))
            raise
        is_right = is_whole and tokens == self._tokens
        state, kind = (State.FINISHED, "") if is_right else (State.FAILED, "an answer that is not whole")
        return Outcome(state, kind, began, time.monotonic(), first, tokens)

    def _pause_seconds(self, outcome: Outcome) -> float:
        if outcome.state not in (State.REFUSED, State.FAILED):
            self._backoff_seconds = FIRST_BACKOFF_SECONDS
            return 0.0
        if outcome.retry_seconds is not None:
            return outcome.retry_seconds
        pause = self._backoff_seconds * self._random.uniform(*JITTER)
        self._backoff_seconds = min(2 * self._backoff_seconds, MAX_BACKOFF_SECONDS)
        return pause
