"""The errors of an engine, named for what is wrong."""


class EngineError(Exception):
    """Base of all that an engine raises on purpose."""


class EngineUnavailable(EngineError):
    """The engine could not take the turn; no token was made, so trying again is safe."""


class EngineBroken(EngineError):
    """The engine failed after the first token; trying again would repeat text."""
