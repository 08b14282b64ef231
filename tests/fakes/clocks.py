"""A clock by behaviour."""


class HandClock:
    """Stands still until it is turned."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds
