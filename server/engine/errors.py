"""The errors of an engine, named for what is wrong."""


class EngineError(Exception):
    """Base of all that an engine raises on purpose."""


class EngineUnavailable(EngineError):
    """The engine could not take the turn. No token was made, so the caller may safely try again."""

    def __init__(self, message: str, retry_after_seconds: float = 1.0) -> None:
        """Say why.

        Args:
            message: One sentence without content.
            retry_after_seconds: When the engine will probably take a turn.
        """
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class EngineBroken(EngineError):
    """The engine failed after the first token, so trying again would repeat text."""


class EngineLost(EngineError):
    """The engine keeps dying, and this process has used up its tries to restart it."""
