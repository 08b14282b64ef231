"""Classes of service: who is waiting for an answer, and what can wait."""

from enum import StrEnum


class ServiceClass(StrEnum):
    """How urgent a turn is, as its caller says."""

    INTERACTIVE = "interactive"
    """Somebody waits for the answer."""
    BATCH = "batch"
    """It may wait; it runs in what interactive turns leave, and in a share of its own."""
