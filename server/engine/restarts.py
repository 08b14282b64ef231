"""How often a dead engine is restarted, and after which wait. Pure: knows no clock."""

from headworks.server.engine.errors import EngineLost
from headworks.server.engine.settings import EngineSettings


class Restarts:
    """Counts restarts in a row."""

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._in_a_row = 0

    @property
    def wait_seconds(self) -> float:
        """How long to wait before the next restart."""
        settings = self._settings
        # 2.0 to the power of 1024 overflows, and the ceiling is reached long before.
        doubled = settings.restart_backoff_seconds * 2.0 ** min(self._in_a_row, 64)
        return min(doubled, settings.max_restart_backoff_seconds)

    def ran(self, seconds: float) -> None:
        """Take note of how long an engine ran before it died."""
        if seconds >= self._settings.restart_window_seconds:
            self._in_a_row = 0

    def begin(self) -> None:
        """Count one more restart.

        Raises:
            EngineLost: there were as many in a row as the settings allow.
        """
        if self._in_a_row >= self._settings.max_restarts:
            raise EngineLost(
                f"the engine died again: engine.max_restarts allows {self._settings.max_restarts} in a row"
            )
        self._in_a_row += 1
