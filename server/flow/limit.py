"""A limit that finds itself: it grows while what it lets in is served well, and shrinks when that stretches."""

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

from headworks.server.flow.pace import Pace
from headworks.server.flow.settings import FlowSettings
from headworks.server.flow.tempo import Tempo
from headworks.server.flow.watch import WatchedLoad

_FAST, _SLOW = 1.25, 1.03
"""Growth in one look, well below the height of the last pressure and near or above it."""
_NEAR = 0.9
"""Of that height: from here on it grows slowly."""
_DOUBT = 0.95
"""What is left of that height when pressure comes long before it was reached again."""
_UNKNOWN_CACHE_TOKENS = 1_000_000
"""Taken for an engine that names no cache."""


class Pressure(StrEnum):
    """Why a limit shrinks."""

    NONE = "none"
    LOOP_LAG = "loop_lag"
    LATE_START = "late_start"
    """First tokens come late."""
    SLOW_FLOW = "slow_flow"
    """The gaps between tokens are long."""
    ENGINE_QUEUE = "engine_queue"


class EngineSigns(WatchedLoad, Protocol):
    """What admission looks at in an engine's load."""

    @property
    def waiting(self) -> int:
        """Turns that wait inside the engine."""
        ...

    @property
    def cache_tokens(self) -> int:
        """Tokens that the cache holds; 0 when the engine has no such bound."""
        ...

    @property
    def preemptions(self) -> int:
        """Turns that lost their place in the cache, since the engine started."""
        ...


class Ceiling:
    """A number between two others that shrinks and grows, and remembers how high it stood when pressure came.

    Source: the shape is that of CUBIC's window in TCP (RFC 9438): back fast to where it was, then carefully.
    """

    def __init__(self, least: float, first: float, most: float) -> None:
        self.value = min(first, most)
        self._least = min(least, most)
        self._most = most
        self._height = most

    def shrink(self, used: float, factor: float, floor: float = 0.0) -> None:
        """Fall to a share of what is in use, unless that is below the floor."""
        height = min(self.value, used)
        is_near = height >= _NEAR * self._height
        self._height = height if is_near else max(height, _DOUBT * self._height)
        self.value = max(self._least, min(self.value, max(floor, factor * height)))

    def grow(self) -> None:
        """Rise by one step, at least by 1."""
        rate = _FAST if self.value < _NEAR * self._height else _SLOW
        self.value = min(self._most, max(self.value + 1, self.value * rate))


class FlowLimit:
    """The limits on turns at once and on the tokens that they may come to."""

    def __init__(self, settings: FlowSettings, pace: Pace, load: Callable[[], EngineSigns]) -> None:
        """Begin.

        Args:
            load: The engine's load of the moment.
        """
        limit = settings.limit
        self.gaps = Tempo(limit.max_gap_seconds, limit.max_stretch)
        """Between tokens."""
        self.first_tokens = Tempo(limit.max_first_token_seconds, limit.max_stretch)
        """From the end of input, or the permit, whichever came later."""
        self.pressure = Pressure.NONE
        """Why the limit shrank last; NONE since it grew again."""
        self._settings = limit
        self._pace = pace
        self._load = load
        self._turns = Ceiling(limit.least_turns, limit.first_turns, settings.max_turns)
        self._tokens: Ceiling | None = None
        self._preemptions = 0
        self._met_turns = self._met_tokens = False
        self._has_just_shrunk = False

    @property
    def turns(self) -> int:
        """Turns that may run at once."""
        return int(self._turns.value)

    @property
    def tokens(self) -> int:
        """Tokens that the prompts and answers of running turns may come to."""
        return int(self._tokens_ceiling().value)

    def met_turns(self) -> None:
        """A turn had to wait for the limit on turns."""
        self._met_turns = True

    def met_tokens(self) -> None:
        """A turn had to wait for the limit on tokens."""
        self._met_tokens = True

    def look(self, turns: int, tokens: int, needed_turns: float, *, is_alarmed: bool = False) -> None:
        """Adapt both limits, once an interval.

        Args:
            turns: The most that ran since the last look.
            tokens: What running turns may come to now.
            needed_turns: What the best rate of late needs. A process that is late by other work, such as refusals, is
                not helped by fewer turns than that.
            is_alarmed: Gaps or the cache have left their usual range; until they are back, nothing grows.
        """
        load, factor = self._load(), self._settings.shrink_factor
        if self._is_cache_short(load):
            self._tokens_ceiling().shrink(tokens, factor)
        elif self._met_tokens and not is_alarmed:
            self._tokens_ceiling().grow()
        pressure = self._pressure(load)
        if pressure is not Pressure.NONE:
            self.pressure = pressure
            # One interval passes before the next step down, so that this one can show in what is measured.
            if not self._has_just_shrunk:
                floor = max(needed_turns, self._settings.first_turns) if pressure is Pressure.LOOP_LAG else 0.0
                self._turns.shrink(turns, factor, floor)
            self._has_just_shrunk = not self._has_just_shrunk
        else:
            self._has_just_shrunk = False
            if self._met_turns and not is_alarmed:
                self.pressure = Pressure.NONE
                self._turns.grow()
        self._met_turns = self._met_tokens = False

    def _pressure(self, load: EngineSigns) -> Pressure:
        is_late, is_slow = self.first_tokens.is_stretched(), self.gaps.is_stretched()
        if self._pace.lag_seconds > self._settings.max_loop_lag_seconds:
            return Pressure.LOOP_LAG
        if load.waiting > self._settings.max_engine_waiting:
            return Pressure.ENGINE_QUEUE
        if is_late:
            return Pressure.LATE_START
        return Pressure.SLOW_FLOW if is_slow else Pressure.NONE

    def _is_cache_short(self, load: EngineSigns) -> bool:
        has_preempted, self._preemptions = load.preemptions > self._preemptions, load.preemptions
        return has_preempted or load.cache_used > self._settings.max_cache_used

    def _tokens_ceiling(self) -> Ceiling:
        """Return the ceiling on tokens; it is made when first asked for, since only a started engine has a cache."""
        if self._tokens is None:
            cache = self._load().cache_tokens or _UNKNOWN_CACHE_TOKENS
            self._tokens = Ceiling(cache / 4, cache * self._settings.cache_overcommit, cache * 8)
        return self._tokens
