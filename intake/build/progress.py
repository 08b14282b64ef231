"""What a pull tells whoever watches it."""

from typing import Protocol

from headworks.intake.models.store import ModelKind


class PullObserver(Protocol):
    """Hears the facts of a pull, in order, on the pulling thread; the caller draws them."""

    def kept(self, kind: ModelKind, name: str) -> None:
        """This model is in the store already and is left as it is."""
        ...

    def started(self, kind: ModelKind, name: str, source: str) -> None:
        """A build begins; `finished` follows, or the pull raises."""
        ...

    def advanced(self, kind: ModelKind, name: str, step: str, done: int, total: int) -> None:
        """`done` of `total` units of a step are behind us; 0 announces the step. Units are the step's own."""
        ...

    def finished(self, kind: ModelKind, name: str, total_bytes: int) -> None:
        """The model is in the store."""
        ...


class SilentObserver:
    """Hears and says nothing."""

    def kept(self, kind: ModelKind, name: str) -> None:
        """Ignore."""

    def started(self, kind: ModelKind, name: str, source: str) -> None:
        """Ignore."""

    def advanced(self, kind: ModelKind, name: str, step: str, done: int, total: int) -> None:
        """Ignore."""

    def finished(self, kind: ModelKind, name: str, total_bytes: int) -> None:
        """Ignore."""
