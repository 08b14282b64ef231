"""Tokens that may be used once, and have been."""

from collections.abc import Callable

from headworks.policy.errors import UnknownCaller

MAX_USED = 100_000
"""Remembered at once; while there are so many, no further one is taken: forgetting one would let it in again."""
_SWEEP_SECONDS = 1.0
"""Between two looks for those that have expired: with so many, a look takes some milliseconds."""
MAX_SECONDS = 3_600.0
"""A token that is used once must expire within this, so that it need not be remembered for long."""


class UsedTokens:
    """Remembers each token until it has expired."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._until: dict[tuple[str, str], float] = {}
        self._swept_at = 0.0

    def use(self, issuer: str, token_id: str, until: float) -> None:
        """Take note of a token's use.

        Args:
            until: When it is refused anyway, in seconds since 1970.
        Raises:
            UnknownCaller: it was used before, lasts too long, or too many are remembered.
        """
        now, name = self._now(), (issuer, token_id)
        if len(self._until) >= MAX_USED and now - self._swept_at >= _SWEEP_SECONDS:
            self._swept_at = now
            self._until = {known: end for known, end in self._until.items() if end > now}
        if (
            not isinstance(token_id, str)
            or self._until.get(name, 0.0) > now
            or until - now > MAX_SECONDS
            or len(self._until) >= MAX_USED
        ):
            raise UnknownCaller("the token is not valid")
        self._until[name] = until
