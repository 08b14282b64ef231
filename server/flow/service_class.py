"""How urgent a turn is."""

from enum import StrEnum


class ServiceClass(StrEnum):
    """The class that a caller asks for. It orders turns that wait, and nothing else."""

    INTERACTIVE = "interactive"
    """Somebody waits for the first token."""
    BATCH = "batch"
    """Nobody watches; the turn may wait while interactive ones run."""
