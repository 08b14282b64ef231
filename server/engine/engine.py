"""The port to an engine, which turns the tokens of a prompt into the tokens of an answer."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


class FinishReason(StrEnum):
    """Why an answer ends."""

    STOP = "stop"
    LENGTH = "length"


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the engine picks each token of an answer."""

    max_output_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """What an engine is asked for: one answer."""

    turn_id: str
    sampling: Sampling
    trace_headers: Mapping[str, str] = field(default_factory=dict)
    """W3C trace context of the turn's span; empty when nothing is traced."""


@dataclass(frozen=True, slots=True)
class PromptChunk:
    """Tokens of a prompt that will not change any more. The last chunk ends the prompt and is never empty."""

    token_ids: tuple[int, ...]
    is_last: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """Tokens of an answer: at least one, unless `finish` is set."""

    token_ids: tuple[int, ...]
    finish: FinishReason | None = None
    """Why the answer ends here; None on every piece but the last."""


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """How busy the engine is."""

    running: int
    """Turns that hold a place in the batch; a turn whose input still arrives holds one too."""
    waiting: int
    cache_used: float
    """Share of the key/value cache in use, in [0, 1]."""
    cache_tokens: int = 0
    """Tokens that the cache holds in all; 0 where the engine has no such bound."""
    preemptions: int = 0
    """Turns that lost their place in the cache for a while, since the engine started."""
    deferred: int = 0
    """Turns in the engine that hold no place in the batch for another reason than its size, such as a turn whose next
    input has not come."""
    block_tokens: int = 0
    """Tokens in one block of the cache; 0 where it has no blocks. A turn wastes less than one block, its last."""
    looked_up_tokens: int = 0
    """Tokens of prompts that were looked up in the cache of prefixes, since the engine started."""
    reused_tokens: int = 0
    """Of these, tokens that were found there and needed no prefill."""


class Engine(Protocol):
    """Makes answers. One object serves all turns, from `start` until it dies or is closed."""

    @property
    def max_model_tokens(self) -> int:
        """Prompt and answer together; an answer that reaches it ends there with `LENGTH`."""
        ...

    async def start(self) -> None:
        """Become ready to answer. The event loop stays free meanwhile.

        Raises:
            EngineUnavailable: the engine cannot start; the message says why.
        """
        ...

    def answer(self, request: EngineRequest, prompt: AsyncIterator[PromptChunk]) -> AsyncGenerator[Piece, None]:
        """Prefill chunks as they come and yield the answer after the last one.

        Closing or cancelling the generator aborts the turn. However the answer ends, nobody iterates `prompt` any
        more from then on, so its owner may close it. An error raised by `prompt` comes out unchanged.

        Args:
            prompt: At most `max_model_tokens` - 1 tokens in all. The caller closes it.
        Raises:
            EngineUnavailable: the engine failed, died or was closed before the first piece.
            EngineBroken: the same, after the first piece.
        """
        ...

    def load(self) -> EngineLoad:
        """Return how busy the engine is now."""
        ...

    def is_healthy(self) -> bool:
        """Return whether the engine was started and has neither died nor been closed, as far as it knows."""
        ...

    async def heartbeat(self) -> None:
        """Return once the engine has shown that it works, between two steps of its batch.

        An engine that hangs never answers: the caller sets the limit and cancels.

        Raises:
            EngineUnavailable: the engine has died.
        """
        ...

    async def close(self) -> None:
        """End all answers with an error and let go of the machine. May be called twice, and during `start`.

        Raises:
            EngineUnavailable: processes of the engine are still there, so that no other one can take its place.
        """
        ...
