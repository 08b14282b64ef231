"""What became of turns: counts, and quantiles whose memory does not grow with the turns. Pure."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from math import ceil, log

LEAST_SECONDS = 1e-5
"""Shorter times count as this one."""
GROWTH = 1.02
"""Each bucket is so much wider than the one before: a quantile is right within 1 %. From 10 us to a day there are
fewer than 1,200."""
MAX_REASONS = 64
"""Different reasons that are kept; a server that invents more has them counted together."""
OTHER_REASON = "other"
_PER_BUCKET = 1 / log(GROWTH)
_MIDDLE = GROWTH**0.5


class Histogram:
    """Times in buckets that grow by a fixed factor."""

    __slots__ = ("_counts", "count")

    def __init__(self) -> None:
        self.count = 0
        self._counts: dict[int, int] = {}

    def add(self, seconds: float) -> None:
        """Count one time."""
        bucket = int(log(seconds / LEAST_SECONDS) * _PER_BUCKET) if seconds > LEAST_SECONDS else 0
        self._counts[bucket] = self._counts.get(bucket, 0) + 1
        self.count += 1

    def include(self, other: "Histogram") -> None:
        """Count all times of another one too."""
        self.count += other.count
        for bucket, count in other._counts.items():
            self._counts[bucket] = self._counts.get(bucket, 0) + count

    def quantile(self, share: float) -> float | None:
        """Return the time that this share of the times does not exceed, in seconds; None when there is no time."""
        rank = max(1, ceil(share * self.count))
        for bucket in sorted(self._counts):
            rank -= self._counts[bucket]
            if rank <= 0:
                return float(LEAST_SECONDS * GROWTH**bucket * _MIDDLE)
        return None


class State(Enum):
    """How a turn ended. Every turn that was due ends in exactly one of these."""

    FINISHED = "finished"
    """Whole, and inside its deadline."""
    LATE = "late"
    """Its deadline passed first."""
    REFUSED = "refused"
    """A limit of the server refused it; the reason is the limit's name."""
    FAILED = "failed"
    """It ended in any other error; the reason is the code."""
    UNSENT = "unsent"
    """This client could not send it: it was at its own bound, or too slow."""
    CUT = "cut"
    """This client ended it, because the run was over."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How one turn ended."""

    state: State
    why: str = ""
    """The limit or the code; "" where the state says it all."""
    tokens: int = 0
    """Of the answer, as far as it came."""
    prompt_tokens: int = 0
    """As the server booked them; 0 for a turn that did not finish."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What a tally came to."""

    offered: int
    """Turns that were due."""
    counts: dict[State, int]
    tries: int
    """Calls that were made; more than the turns where refused ones came back."""
    goodput: float
    """Tokens a second of turns that finished inside their deadline."""
    tokens_per_second: float
    """All tokens, those of turns that came to nothing included."""
    answer_tokens: float
    """Mean of a finished turn."""
    prompt_tokens: float
    """The same, of the prompt."""
    first_token_p50: float | None
    """Seconds from the moment the turn was due; of every turn that got a token. None when none did."""
    first_token_p99: float | None
    gap_p50: float | None
    """Seconds between messages with tokens of one turn."""
    gap_p99: float | None
    refusal_p99: float | None
    """Seconds from a try to its refusal."""
    send_delay_p99: float | None
    """Seconds from the moment a turn was due until it was sent: this client's own delay."""
    reasons: tuple[tuple[State, str, int], ...]
    """What refused or failed, with the number of turns, most first."""
    refusals: tuple[tuple[str, int], ...]
    """Limits that refused a try, whatever became of the turn, most first."""

    @property
    def decided(self) -> int:
        """Turns that this client did not cut: only they say something about the server."""
        return self.offered - self.counts[State.CUT]

    @property
    def good_share(self) -> float:
        """Share of the decided turns that finished inside their deadline; 1 when there is none."""
        return self.counts[State.FINISHED] / self.decided if self.decided else 1.0

    def share(self, state: State) -> float:
        """Share of the decided turns that ended so."""
        return self.counts[state] / self.decided if self.decided else 0.0


class Tally:
    """Counts turns. It is told of each when it is due, and once when it has ended."""

    def __init__(self) -> None:
        self.offered = 0
        self.tries = 0
        self.first_token = Histogram()
        self.gap = Histogram()
        self.refusal = Histogram()
        self.send_delay = Histogram()
        self._states: Counter[State] = Counter()
        self._reasons: Counter[tuple[State, str]] = Counter()
        self._refusals: Counter[str] = Counter()
        self._tokens = 0
        self._good_tokens = 0
        self._prompt_tokens = 0

    @property
    def ended(self) -> int:
        """Turns that have ended."""
        return self._states.total()

    def ended_as(self, state: State) -> int:
        """Turns that have ended so."""
        return self._states[state]

    def note_refusal(self, limit: str, seconds: float) -> None:
        """Count one try that a limit refused."""
        self.refusal.add(seconds)
        known = limit in self._refusals or len(self._refusals) < MAX_REASONS
        self._refusals[limit if known else OTHER_REASON] += 1

    def note_end(self, ending: Ending) -> None:
        """Count one turn's end."""
        self._states[ending.state] += 1
        self._tokens += ending.tokens
        if ending.state is State.FINISHED:
            self._good_tokens += ending.tokens
            self._prompt_tokens += ending.prompt_tokens
        elif ending.why:
            key = (ending.state, ending.why)
            known = key in self._reasons or len(self._reasons) < MAX_REASONS
            self._reasons[key if known else (ending.state, OTHER_REASON)] += 1

    def figures(self, seconds: float) -> Figures:
        """Return what it came to over a stretch of time."""
        good = self._states[State.FINISHED]
        return Figures(
            offered=self.offered,
            counts={state: self._states[state] for state in State},
            tries=self.tries,
            goodput=self._good_tokens / seconds if seconds > 0 else 0.0,
            tokens_per_second=self._tokens / seconds if seconds > 0 else 0.0,
            answer_tokens=self._good_tokens / good if good else 0.0,
            prompt_tokens=self._prompt_tokens / good if good else 0.0,
            first_token_p50=self.first_token.quantile(0.5),
            first_token_p99=self.first_token.quantile(0.99),
            gap_p50=self.gap.quantile(0.5),
            gap_p99=self.gap.quantile(0.99),
            refusal_p99=self.refusal.quantile(0.99),
            send_delay_p99=self.send_delay.quantile(0.99),
            reasons=tuple((state, why, count) for (state, why), count in self._reasons.most_common()),
            refusals=tuple(self._refusals.most_common()),
        )

    @classmethod
    def of(cls, tallies: Iterable["Tally"]) -> "Tally":
        """Return one that counts all that these have counted."""
        whole = cls()
        for tally in tallies:
            whole.offered += tally.offered
            whole.tries += tally.tries
            for name in ("first_token", "gap", "refusal", "send_delay"):
                getattr(whole, name).include(getattr(tally, name))
            whole._states += tally._states
            whole._reasons += tally._reasons
            whole._refusals += tally._refusals
            whole._tokens += tally._tokens
            whole._good_tokens += tally._good_tokens
            whole._prompt_tokens += tally._prompt_tokens
        return whole
