"""Says whether all that a turn needs is there."""

from collections.abc import Callable


class Readiness:
    """Knows which parts of the gateway are not ready. It is made with their names; each is marked once it is ready."""

    def __init__(self, parts: tuple[str, ...]) -> None:
        self._missing = dict.fromkeys(parts, "starting")
        self._is_draining = False
        self._checks: list[tuple[str, Callable[[], bool]]] = []

    @property
    def is_ready(self) -> bool:
        """True while every part is ready and works, and the server is not draining."""
        return not self.missing()

    def missing(self) -> tuple[str, ...]:
        """Return one phrase for each part that is not ready."""
        if self._is_draining:
            return ("draining",)
        down = [f"{name}: down" for name, is_up in self._checks if not is_up()]
        return (*(f"{name}: {state}" for name, state in self._missing.items()), *down)

    def mark(self, part: str, is_up: Callable[[], bool] | None = None) -> None:
        """Take note that a part is ready.

        Args:
            part: Its name.
            is_up: Tells whether it works at this moment, for a part that may go down and come back.
        """
        self._missing.pop(part, None)
        if is_up is not None:
            self._checks.append((part, is_up))

    def drain(self) -> None:
        """Say that nothing is ready from now on."""
        self._is_draining = True
