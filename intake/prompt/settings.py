"""How long one prompt may get."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """How long one prompt may get."""

    max_tokens: int = 4096
    """Template included. As long as the embedded engine's length, which the answer has to fit in as well."""
