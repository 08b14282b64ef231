"""Keeps which parts must be ready before turns are taken."""

from collections.abc import Callable


class Readiness:
    """Collects what is missing. Made with the names of all parts; each one is marked as it becomes ready."""

    def __init__(self, parts: tuple[str, ...]) -> None:
        self._missing = dict.fromkeys(parts, "starting")
        self._is_draining = False
        self._checks: list[tuple[str, Callable[[], bool]]] = []

    @property
    def is_ready(self) -> bool:
        """True while every part is ready and the server is not draining."""
        return not self.missing()

    def missing(self) -> tuple[str, ...]:
        """Return one phrase for each part that is not ready."""
        if self._is_draining:
            return ("draining",)
        died = [f"{name}: died" for name, is_alive in self._checks if not is_alive()]
        return (*(f"{name}: {state}" for name, state in self._missing.items()), *died)

    def mark(self, part: str, is_alive: Callable[[], bool] | None = None) -> None:
        """Say that a part is ready, and how to tell that it still is."""
        self._missing.pop(part, None)
        if is_alive is not None:
            self._checks.append((part, is_alive))

    def drain(self) -> None:
        """Not ready from now on."""
        self._is_draining = True
