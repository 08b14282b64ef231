"""Why a turn may not run now."""


class FlowError(Exception):
    """Base of all that keeps a turn from running now."""


class TooMany(FlowError):
    """A limit on how much at once, or on how much a minute, is reached.

    Args:
        limit: What holds it, the setting ("flow.max_turns") or the verdict ("obligations.turns_per_minute").
        allowed: Its value.
        retry_after_seconds: When trying again makes sense.
    """

    def __init__(self, limit: str, allowed: float, retry_after_seconds: float) -> None:
        super().__init__(f"{limit} allows {allowed:g}; try again in {retry_after_seconds:.1f} s")
        self.limit = limit
        self.allowed = allowed
        self.retry_after_seconds = retry_after_seconds


class TooLate(FlowError):
    """The turn could not end before its caller's deadline, so it is not begun.

    Args:
        needed_seconds: How long it would take, with the wait before it.
        left_seconds: What is left until the deadline.
        retry_after_seconds: When trying again makes sense.
    """

    def __init__(self, needed_seconds: float, left_seconds: float, retry_after_seconds: float) -> None:
        super().__init__(
            f"the deadline is {left_seconds:.1f} s away and the answer would take {needed_seconds:.1f} s; "
            f"try again in {retry_after_seconds:.1f} s, or allow longer"
        )
        self.limit = "deadline"
        self.retry_after_seconds = retry_after_seconds


class Draining(FlowError):
    """The server finishes what it has and takes nothing new."""
