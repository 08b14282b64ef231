"""The port to what makes tokens out of tokens."""

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
    """How to pick tokens."""

    max_output_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """One answer to make."""

    turn_id: str
    sampling: Sampling
    trace_headers: Mapping[str, str] = field(default_factory=dict)
    """W3C trace context of the turn's span; empty when nothing is traced."""


@dataclass(frozen=True, slots=True)
class PromptChunk:
    """Prompt tokens that are certain. The last chunk is never empty and ends the prompt."""

    token_ids: tuple[int, ...]
    is_last: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """Answer tokens, at least one unless `finish` is set."""

    token_ids: tuple[int, ...]
    finish: FinishReason | None = None
    """Set on the last piece only."""


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """How busy the engine is."""

    running: int
    """Turns that hold a place in the batch, those still fed included."""
    waiting: int
    cache_used: float
    """Share of the key/value cache in use, in [0, 1]."""


class Engine(Protocol):
    """Makes answers. One object serves all turns."""

    @property
    def model(self) -> str:
        """The served model's name."""
        ...

    @property
    def max_model_tokens(self) -> int:
        """Prompt and answer together; an answer that reaches it ends there with `LENGTH`."""
        ...

    @property
    def max_model_tokens_setting(self) -> str:
        """The setting that holds it, as in the settings file ("engine.vllm.max_model_tokens")."""
        ...

    async def start(self) -> None:
        """Become ready; the event loop stays free meanwhile.

        Raises:
            EngineUnavailable: it cannot; the message says why.
        """
        ...

    def answer(self, request: EngineRequest, prompt: AsyncIterator[PromptChunk]) -> AsyncGenerator[Piece, None]:
        """Prefill chunks as they come and yield the answer after the last one.

        Closing or cancelling the generator aborts the turn. An error raised by `prompt` comes out unchanged.

        Args:
            prompt: At most `max_model_tokens` - 1 tokens in all.
        Raises:
            EngineUnavailable: before the first piece.
            EngineBroken: after it.
        """
        ...

    def load(self) -> EngineLoad:
        """Figures of this moment."""
        ...

    def is_healthy(self) -> bool:
        """False once the engine has died."""
        ...

    async def close(self) -> None:
        """Stop all turns and let go of the machine; may be called twice."""
        ...
