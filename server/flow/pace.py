"""How late this process is with its own work, and how long streams wait between messages so that it catches up."""

from headworks.server.clock import Clock
from headworks.server.flow.settings import PaceSettings

_RISE, _FALL = 0.5, 0.05
"""Weight of a new look when the lag grows, and when it shrinks: quick to spare work, slow to trust the calm."""


class Pace:
    """Looks at the lag of the event loop, and sets the wait from it."""

    def __init__(self, settings: PaceSettings, clock: Clock) -> None:
        self.lag_seconds = 0.0
        """How late the event loop is, smoothed."""
        self.is_sparing = False
        """Turns wait in a line that stands, so that work is spared whatever the lag is."""
        self._settings = settings
        self._clock = clock

    @property
    def wait_seconds(self) -> float:
        """How long a stream waits after a message; 0 while the process is not behind."""
        settings = self._settings
        behind = max(0.0, self.lag_seconds - settings.free_lag_seconds)
        return settings.max_wait_seconds if self.is_sparing else min(settings.max_wait_seconds, settings.gain * behind)

    def looked(self, lag_seconds: float) -> None:
        """Take how late one look was."""
        weight = _RISE if lag_seconds > self.lag_seconds else _FALL
        self.lag_seconds += weight * (lag_seconds - self.lag_seconds)

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            due = self._clock.now() + self._settings.look_seconds
            await self._clock.sleep(self._settings.look_seconds)
            self.looked(max(0.0, self._clock.now() - due))
