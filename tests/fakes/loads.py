"""Loads of engines."""

from headworks.server.engine.engine import EngineLoad


def no_load() -> EngineLoad:
    """Return the load of an engine that has nothing to do."""
    return EngineLoad(running=0, waiting=0, cache_used=0.0)
