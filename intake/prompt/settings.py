"""How long one prompt may get."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """Limits on one prompt."""

    max_tokens: int = 4096
    """The template counts. The embedded engine takes as many, and the answer has to fit in there as well."""
