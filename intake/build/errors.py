"""What can go wrong while the store is filled."""

from headworks.intake.errors import IntakeError


class PullFailed(IntakeError):
    """A model could not be built; the store is as it was.

    Args:
        what: One sentence for the operator that says what to do.
    """


class SourceUnreachable(PullFailed):
    """The source is not installed here, or does not answer over the network."""


class ExportMismatch(PullFailed):
    """An exported graph does not compute what the PyTorch model computes, so it was thrown away."""


class StoreBusy(PullFailed):
    """Another process is filling this store."""
