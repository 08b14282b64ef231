"""Limits on one turn."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class InputSettings:
    """Limits on one turn's input."""

    setup_seconds: float = 10.0
    """From the call to its first step."""
    idle_seconds: float = 30.0
    """Between steps; a paused turn keeps its place in the engine's batch."""
    last_words_seconds: float = 1.0
    """Kept of the caller's deadline, a quarter of it at most, while speech arrives: what was heard until then still
    comes as a final."""
    max_queued_chunks: int = 4
    """Chunks that wait for their preprocessor; when full, the sender is not read any more."""
    max_parts: int = 32
    """Parts of all kinds together; each one has a preprocessor, and a line of its own in the prompt."""


@dataclass(frozen=True, slots=True)
class AnswerSettings:
    """Limits on one turn's answer."""

    default_output_tokens: int = 256
    """When the caller names no ceiling. The engine ends the answer sooner where the prompt left less of its length."""
    max_output_tokens: int = 2048
    """The most a caller can ask for; also what a slow reader can make wait here."""
    stall_seconds: float = 60.0
    """Between the whole prompt and the first token, and between tokens."""
    attempts: int = 2
    """How often a turn is given to the engine while no token has come back."""


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """Limits on one turn as a whole."""

    max_seconds: float = 600.0
    """From the call to the last event; a caller's own deadline may be shorter."""
    max_instructions_bytes: int = 4096
    """The length of `setup.instructions`, in UTF-8."""
    input: InputSettings = field(default_factory=InputSettings)
    answer: AnswerSettings = field(default_factory=AnswerSettings)
