"""The limits on one voice part that several readers hold to; each is told by its name in the settings."""

from headworks.intake.errors import TooLarge


def require_seconds(samples: int, rate_hertz: int, max_seconds: int) -> None:
    """Hold a length to `intake.voice.max_seconds`.

    Args:
        samples: The length in samples of one channel.
    Raises:
        TooLarge: it is longer.
    """
    if samples > max_seconds * rate_hertz:
        raise TooLarge("intake.voice.max_seconds", max_seconds, -(-samples // rate_hertz))


class PieceCounter:
    """Counts what is looked at in one container, so that the work is bounded however small its pieces are."""

    def __init__(self, allowed: int) -> None:
        self._allowed = allowed
        self._seen = 0

    def count(self) -> None:
        """Count one piece.

        Raises:
            TooLarge: it is one more than `intake.voice.max_container_pieces`.
        """
        self._seen += 1
        if self._seen > self._allowed:
            raise TooLarge("intake.voice.max_container_pieces", self._allowed, self._seen)
