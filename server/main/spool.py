"""Whether tables can be taken in: looked at before the start, and now and then while the gateway serves."""

import asyncio
import logging

from headworks.intake.errors import SpoolUnavailable
from headworks.intake.table.spool import check_spool
from headworks.server.clock import Clock

_LOOK_SECONDS = 5.0
"""Between two looks: shorter than an orchestrator's usual probes, and a few hundred bytes each."""
_log = logging.getLogger("headworks.server")


class SpoolWatch:
    """Knows whether the temporary folder takes files."""

    def __init__(self, folder: str, clock: Clock) -> None:
        """Watch one folder.

        Args:
            folder: As `intake.table.spool_folder`.
        """
        self._folder = folder
        self._clock = clock
        self._is_up = True

    def is_up(self) -> bool:
        """Whether it did when it was last looked at."""
        return self._is_up

    async def look(self) -> None:
        """Try the folder once.

        Raises:
            SpoolUnavailable: it takes no file.
        """
        await asyncio.to_thread(check_spool, self._folder)

    async def run(self) -> None:
        """Look until cancelled, and tell the log of each change."""
        while True:
            await self._clock.sleep(_LOOK_SECONDS)
            try:
                await self.look()
            except SpoolUnavailable as error:
                if self._is_up:
                    _log.error("spool.down", extra={"why": str(error)})
                self._is_up = False
            else:
                if not self._is_up:
                    _log.info("spool.up")
                self._is_up = True
