"""The prompt of one turn: findings in, tokens on their way to the engine, held to every ceiling on the way."""

import asyncio
from itertools import chain

from headworks.intake.errors import BadMedia, TooLarge
from headworks.intake.finding import Finding
from headworks.intake.span import Modality, Span
from headworks.server.engine.served import ServedModel
from headworks.server.turn.feed import PromptFeed
from headworks.server.turn.opening import OpenTurn
from headworks.server.turn.record import TurnRecord
from headworks.server.turn.steps import Found, Sink


class TurnPrompt:
    """Writes the prompt while findings come. A span goes to the feed once policy has seen what it holds."""

    def __init__(self, served: ServedModel, turn: OpenTurn, record: TurnRecord, sink: Sink) -> None:
        """Begin a prompt.

        Args:
            sink: Is given every finding, before policy is asked.
        """
        self.feed = PromptFeed()
        """Carries the tokens to the engine."""
        self.spans: list[Span] = []
        """Written so far, with their tokens."""
        self._writer = served.prompt_writer(turn.setup.instructions)
        self._held = self._writer.start()
        """The template's first tokens; they wait for the first span, so that nothing refused costs a prefill."""
        self._served = served
        self._inspection = turn.inspection
        self._spending = turn.spending
        self._grant = turn.grant
        self._record = record
        self._sink = sink
        self._one_at_a_time = asyncio.Lock()

    def check(self, modality: Modality) -> None:
        """Hold the turn to the kinds of input it was opened for, before a byte of a part is kept.

        Raises:
            TurnRefused: not one of them.
        """
        self._inspection.check_modality(modality)

    def check_size(self, modality: Modality, size: int) -> None:
        """Hold the turn to the bytes of one kind of input that policy allows, before the last of them are kept.

        Raises:
            TooLarge: so many are too many.
        """
        self._inspection.check_size(modality, size)

    async def take(self, finding: Finding) -> None:
        """Tell the caller of a finding, ask policy, and feed its spans. Callers that come together wait in line.

        Raises:
            TurnRefused, JudgeUnavailable: policy does not allow what is now known.
            TooLarge: over the tokens that policy, settings or the engine allow.
            TooMany: the tenant's minute or day is used up.
        """
        async with self._one_at_a_time:
            await self._sink(Found(finding))
            if not finding.spans:
                return
            written = await self._writer.write(finding.spans)
            await self._inspection.admit(finding, self._record.bytes_by_modality, self._writer.tokens)
            self._hold_to_policy()
            self.spans.extend(written)
            held, self._held = self._held, ()
            await self._feed(held + tuple(chain.from_iterable(span.token_ids for span in written)))

    async def finish(self) -> None:
        """Write what the template has after the input, and end the feed.

        Raises:
            BadMedia: no span was written.
            TooLarge, TooMany: as `take`.
        """
        if not self.spans:
            raise BadMedia("the input came to no text: nothing was written, said or shown")
        rest = await self._writer.finish()
        self._hold_to_policy()
        await self._feed(rest, is_last=True)
        self._grant.input_ended()

    def _hold_to_policy(self) -> None:
        ceiling = self._inspection.obligations.max_input_tokens
        if ceiling is not None and self._writer.tokens > ceiling:
            raise TooLarge("obligations.max_input_tokens", ceiling, self._writer.tokens)

    async def _feed(self, token_ids: tuple[int, ...], *, is_last: bool = False) -> None:
        needed = self.feed.tokens + len(token_ids) + 1
        if needed > self._served.max_tokens:
            raise TooLarge(self._served.max_tokens_setting, self._served.max_tokens, needed)
        await self._spending.charge_input(len(token_ids))
        self._record.fed(len(token_ids))
        self._grant.fed(len(token_ids))
        self.feed.put(token_ids, is_last=is_last)
