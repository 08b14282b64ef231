"""One turn over the shipped client, with its deadline and its retries."""

import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from itertools import cycle

from headworks.intake.span import Modality
from headworks.server.client.client import CallFailed, HeadworksClient
from headworks.server.client.contract import MAX_TEXT_BYTES
from headworks.server.client.patience import Patience
from headworks.server.clock import Clock
from headworks.server.load.mix import Turn
from headworks.server.load.notes import Notes
from headworks.server.load.tally import Ending, State
from headworks.server.turn.steps import Chunk, Delta, Finished, Setup

PURPOSE = "load"
"""What policy and logs see as the purpose of these turns."""
_MAX_REASON_CHARACTERS = 80
"""Of a name that a server gives a limit or an error; it may be another server than ours."""


_OWN_DEADLINE = "deadline"
"""The limit that a server names when a call's own deadline passed, or could not be met."""


class Caller:
    """Sends turns; each tenant has connections of its own, used in turn."""

    def __init__(
        self,
        clients: Sequence[Sequence[HeadworksClient]],
        model: str,
        deadline_seconds: float,
        patience: Patience | None,
        clock: Clock,
    ) -> None:
        """Take the clients, and leave closing them to the one who opened them.

        Args:
            clients: By tenant, in the order of the mix.
            model: Empty for the served one.
            patience: How refusals with RetryInfo are answered; None to ignore what they say.
        """
        self._clients = tuple(cycle(each) for each in clients)
        self._model = model
        self._deadline_seconds = deadline_seconds
        self._patience = patience
        self._clock = clock

    async def send(self, turn: Turn, due: float, notes: Notes) -> float:
        """Run one turn to its end, which is noted.

        Returns:
            Seconds for which the server asked this caller to stay away; 0.0 when it did not, or is not listened to.
        """
        end, tried = due + self._deadline_seconds, 0
        while True:
            tried += 1
            try:
                notes.ended(await self._try(turn, due, end, notes))
            except CallFailed as error:
                wait = None
                if self._patience is not None:
                    wait = self._patience.wait_seconds(error, tried, random.random())  # noqa: S311  # jitter
                if wait is None or self._clock.now() + wait >= end:
                    notes.ended(ending_of(error))
                    return (error.retry_after_seconds or 0.0) if self._patience is not None else 0.0
                await self._clock.sleep(wait)
            else:
                return 0.0

    async def _try(self, turn: Turn, due: float, end: float, notes: Notes) -> Ending:
        """Make one call.

        Raises:
            CallFailed: it failed before the first token; after it the ending says so.
        """
        clock = self._clock
        started = clock.now()
        if started >= end:
            return Ending(State.UNSENT, "this client was too slow")
        notes.tried()
        setup = Setup(self._model, purpose=PURPOSE, max_output_tokens=turn.max_output_tokens)
        client, tokens, last = next(self._clients[turn.tenant]), 0, 0.0
        try:
            async with aclosing(client.converse(setup, prompt_chunks(turn.prompt), end - started)) as events:
                async for event in events:
                    if type(event) is Delta:
                        now = clock.now()
                        if tokens:
                            notes.gap(now - last)
                        elif event.token_ids:
                            notes.first_token(now - due)
                        tokens, last = tokens + len(event.token_ids), now
                    elif type(event) is Finished:
                        state = State.FINISHED if clock.now() <= end else State.LATE
                        return Ending(state, tokens=tokens, prompt_tokens=event.usage.input_tokens)
        except CallFailed as error:
            ending = ending_of(error)
            if ending.state is State.REFUSED:
                notes.refused(ending.why, clock.now() - started)
            if not tokens:
                raise
            return Ending(ending.state, ending.why, tokens)
        return Ending(State.FAILED, "ended without an end", tokens)


def ending_of(error: CallFailed) -> Ending:
    """Say which end an error is: a limit's, the deadline's, or a failure."""
    name = error.metadata.get("limit", "")[:_MAX_REASON_CHARACTERS]
    match error.code:
        case "RESOURCE_EXHAUSTED":
            if name == _OWN_DEADLINE:
                name = f"{name} ({error.reason[:_MAX_REASON_CHARACTERS]})"
            return Ending(State.REFUSED, name or error.reason or f"unnamed: {error.message[:_MAX_REASON_CHARACTERS]}")
        case "DEADLINE_EXCEEDED":
            return Ending(State.LATE, "" if name == _OWN_DEADLINE else name)
    return Ending(State.FAILED, f"{error.code} {error.reason[:_MAX_REASON_CHARACTERS]}".strip())


async def prompt_chunks(prompt: str) -> AsyncGenerator[Chunk, None]:
    """Cut an ASCII prompt into messages."""
    data = prompt.encode()
    for start in range(0, len(data), MAX_TEXT_BYTES):
        piece = data[start : start + MAX_TEXT_BYTES]
        yield Chunk(Modality.TEXT, piece, is_last=start + len(piece) == len(data))
