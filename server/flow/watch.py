"""Watch what flows for bursts and jitter: arrivals, gaps between tokens, the engine's cache."""

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from headworks.server.flow.detector import Detector, DetectorSettings

_SMALLEST_SECONDS = 1e-6


class Signal(StrEnum):
    """What is watched."""

    GAPS = "gaps"
    """Seconds between two tokens of an answer, over all answers: a stall, or an engine that slows down."""
    ARRIVALS = "arrivals"
    """Turns that come, by second: a burst."""
    CACHE_SWING = "cache_swing"
    """By how much the share of the key/value cache in use changes from look to look."""
    REUSE_SWING = "reuse_swing"
    """By how much the share of prompts' tokens that need no prefill departs from its own mean."""


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """What is small enough to be never worth an alarm."""

    least_gap_seconds: float = 0.1
    """Gaps up to this are read as a flow, however short they were before."""
    least_arrivals_per_second: float = 20.0
    """Turns that come more slowly are no burst."""
    least_cache_swing: float = 0.05
    """Of the cache, between two looks."""
    least_reuse_swing: float = 0.2
    """Of the tokens looked up, between one look and the mean."""
    detector: DetectorSettings = field(default_factory=DetectorSettings)


@dataclass(frozen=True, slots=True)
class Alarm:
    """A signal that has left its usual range."""

    signal: Signal
    since: float
    """On the clock."""
    strength: float
    """The worst value so far, as a multiple of what 95 % of the usual ones stay below."""


class AlarmObserver(Protocol):
    """Is told of alarms; must not raise and must not block."""

    def alarmed(self, alarm: Alarm) -> None:
        """An alarm began."""
        ...

    def calmed(self, alarm: Alarm, seconds: float) -> None:
        """It is over, after so long."""
        ...


class SilentAlarms:
    """Hears of alarms and says nothing."""

    def alarmed(self, alarm: Alarm) -> None:
        pass

    def calmed(self, alarm: Alarm, seconds: float) -> None:
        pass


class WatchedLoad(Protocol):
    """What is watched of an engine's load."""

    @property
    def running(self) -> int:
        """Turns in the engine."""
        ...

    @property
    def cache_used(self) -> float:
        """Share of the key/value cache in use, in [0, 1]."""
        ...

    @property
    def looked_up_tokens(self) -> int:
        """Tokens looked up in the cache of prefixes, since the engine started."""
        ...

    @property
    def reused_tokens(self) -> int:
        """Of these, tokens that were found."""
        ...


class FlowWatch:
    """One for the process. It keeps a few numbers, however many turns there are.

    Values of one look have one cause, as a slow step of the batch makes the gap of every answer long. So a look gives
    each detector one value at most: what detectors count on is that one value says nothing about the next.
    """

    def __init__(self, settings: WatchSettings, observer: AlarmObserver) -> None:
        self.raised = dict.fromkeys(Signal, 0)
        """Alarms since the start."""
        self._observer = observer
        least = {
            Signal.GAPS: settings.least_gap_seconds,
            Signal.ARRIVALS: settings.least_arrivals_per_second,
            Signal.CACHE_SWING: settings.least_cache_swing,
            Signal.REUSE_SWING: settings.least_reuse_swing,
        }
        self._detectors = {signal: Detector(least[signal], settings.detector) for signal in Signal}
        self._since: dict[Signal, float] = {}
        self._gaps = _Mean()
        self._silent_since: float | None = None
        self._arrived_at: float | None = None
        self._arrivals = 0
        self._cache_used: float | None = None
        self._reuse = _Reuse()

    def gap(self, seconds: float) -> None:
        """A token came so long after the one before it, in whichever answer."""
        self._gaps.add(seconds)

    def arrived(self, now: float) -> None:
        """A turn came, at this time on the clock."""
        if self._arrived_at is not None:
            self._take(Signal.ARRIVALS, 1 / max(now - self._arrived_at, _SMALLEST_SECONDS), now)
        self._arrived_at = now
        self._arrivals += 1

    def engine(self, load: WatchedLoad, now: float, answering: int = 0) -> None:
        """Look at the engine; called at even intervals, some a second.

        Args:
            answering: Answers that have begun and not ended. While there are any and no token comes, the silence is a
                gap too; with 0 only gaps between tokens are looked at, which come when a stall is over.
        """
        self._take(Signal.GAPS, self._gap(now, answering), now)
        self._take(Signal.CACHE_SWING, self._cache_swing(load), now)
        self._take(Signal.REUSE_SWING, self._reuse.swing(load), now)
        if not self._arrivals:
            self._take(Signal.ARRIVALS, None, now)
        self._arrivals = 0

    def is_alarmed(self, signal: Signal) -> bool:
        """Return whether the signal is out of its usual range now."""
        return signal in self._since

    def usual(self, signal: Signal) -> float:
        """Return what 95 % of the signal's values stay below, 0 until that is known."""
        return self._detectors[signal].usual

    def alarms(self) -> tuple[Alarm, ...]:
        """Return the alarms of this moment."""
        return tuple(self._alarm(signal) for signal in self._since)

    def _gap(self, now: float, answering: int) -> float | None:
        gap = self._gaps.end()
        if gap is not None or not answering or self._silent_since is None:
            self._silent_since = now
            return gap
        return now - self._silent_since

    def _cache_swing(self, load: WatchedLoad) -> float | None:
        before, self._cache_used = self._cache_used, load.cache_used if load.running else None
        return abs(load.cache_used - before) if before is not None and load.running else None

    def _take(self, signal: Signal, value: float | None, now: float) -> None:
        """Give a detector its value, or a moment of calm where there was nothing to measure."""
        detector = self._detectors[signal]
        strength = detector.strength
        if value is None:
            detector.calm()
        else:
            detector.add(value)
        if detector.is_alarmed == (signal in self._since):
            return
        if detector.is_alarmed:
            self._since[signal] = now
            self.raised[signal] += 1
            self._observer.alarmed(self._alarm(signal))
        else:
            since = self._since.pop(signal)
            self._observer.calmed(Alarm(signal, since, strength), now - since)

    def _alarm(self, signal: Signal) -> Alarm:
        return Alarm(signal, self._since[signal], self._detectors[signal].strength)


class _Mean:
    """The geometric mean of times, which one of them alone moves little."""

    def __init__(self) -> None:
        self._logs, self._count = 0.0, 0

    def add(self, seconds: float) -> None:
        self._logs += math.log(max(seconds, _SMALLEST_SECONDS))
        self._count += 1

    def end(self) -> float | None:
        """Return the mean of what came since the last end, None where nothing came."""
        mean = math.exp(self._logs / self._count) if self._count else None
        self._logs, self._count = 0.0, 0
        return mean


class _Reuse:
    """How far the reuse of prefixes is from its own mean."""

    _WEIGHT = 0.05
    """Of a new look in the mean."""

    def __init__(self) -> None:
        self._looked_up = self._reused = 0
        self._mean: float | None = None

    def swing(self, load: WatchedLoad) -> float | None:
        """Return the distance of what came since the last look, None where nothing was looked up."""
        looked_up, reused = load.looked_up_tokens - self._looked_up, load.reused_tokens - self._reused
        self._looked_up, self._reused = load.looked_up_tokens, load.reused_tokens
        if looked_up <= 0:  # after a restart of the engine there are fewer
            return None
        share = reused / looked_up
        if self._mean is None:
            self._mean = share
        swing = abs(share - self._mean)
        self._mean += self._WEIGHT * (share - self._mean)
        return swing
