"""One line a long step, redrawn while it goes on."""

import sys
import time


class Progress:
    """Writes to standard error: in place on a terminal, every half minute elsewhere."""

    def __init__(self) -> None:
        self._shown_at = 0.0
        self._in_place = sys.stderr.isatty()

    def step(self, what: str, done: int, total: int, detail: str = "") -> None:
        """Say how far `what` is; the last call is always shown."""
        now = time.monotonic()
        if done < total and now - self._shown_at < (0.2 if self._in_place else 30):
            return
        self._shown_at = now
        end = "\n" if done >= total or not self._in_place else ""
        start = "\r\033[K" if self._in_place else ""
        print(f"{start}{what} {done}/{total} {detail}".rstrip(), end=end, file=sys.stderr, flush=True)

    def note(self, line: str) -> None:
        """Say something that stays."""
        print(f"{chr(13) + chr(27) + '[K' if self._in_place else ''}{line}", file=sys.stderr, flush=True)
