"""The simulated engine's key/value cache: room for tokens that turns hold while they run."""

import asyncio
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager


class SimulatedCache:
    """Gives room to turns, in tokens.

    A turn that begins waits in line until its prompt fits. One that grows and finds no room loses all it holds, as a
    turn that vLLM preempts, and joins the line with what it needs now. A turn that is alone always fits.
    """

    def __init__(self, tokens: int) -> None:
        """Make the cache; with 0 tokens it has no bound."""
        self.preemptions = 0
        """Turns that lost what they held, since the start."""
        self._tokens = tokens
        self._used = 0
        self._line: deque[tuple[int, asyncio.Future[None]]] = deque()
        """Tokens that are needed, and the turn's wait for them; first come first served."""

    @property
    def waiting(self) -> int:
        """Turns that wait for room."""
        return len(self._line)

    @property
    def used_share(self) -> float:
        """Share of the cache that is held, in [0, 1]; 0 without a bound."""
        return min(1.0, self._used / self._tokens) if self._tokens else 0.0

    @contextmanager
    def held(self) -> Generator["HeldRoom", None, None]:
        """Let one turn hold room for the length of the block."""
        room = HeldRoom(self)
        try:
            yield room
        finally:
            self._give_back(room.tokens)

    async def _take(self, room: "HeldRoom", tokens: int) -> bool:
        alone = self._used == room.tokens
        if not self._tokens or ((self._fits(tokens) or alone) and (room.tokens or not self._line)):
            self._used += tokens
            room.tokens += tokens
            return False
        needed, has_held = room.tokens + tokens, room.tokens > 0
        self.preemptions += has_held
        self._give_back(room.tokens)
        room.tokens = 0
        await self._wait(needed)
        room.tokens = needed
        return has_held

    async def _wait(self, tokens: int) -> None:
        entry = tokens, asyncio.get_running_loop().create_future()
        self._line.append(entry)
        self._serve()
        try:
            await entry[1]
        except asyncio.CancelledError:
            if entry in self._line:
                self._line.remove(entry)
                self._serve()
            else:
                self._give_back(tokens)
            raise

    def _fits(self, tokens: int) -> bool:
        return self._used + tokens <= self._tokens

    def _give_back(self, tokens: int) -> None:
        self._used -= tokens
        self._serve()

    def _serve(self) -> None:
        while self._line and (self._fits(self._line[0][0]) or not self._used):
            tokens, given = self._line.popleft()
            self._used += tokens
            given.set_result(None)


class HeldRoom:
    """What one turn holds."""

    def __init__(self, cache: SimulatedCache) -> None:
        self.tokens = 0
        self._cache = cache

    async def grow(self, tokens: int) -> bool:
        """Hold so many tokens more; return whether the turn lost what it held and waited to get it back."""
        return await self._cache._take(self, tokens)
