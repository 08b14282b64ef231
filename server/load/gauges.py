"""The server's own gauges, read from its /metrics while it is under load."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from typing import Protocol
from urllib.request import Request, urlopen

TIMEOUT_SECONDS = 2.0
"""For one read; a server that needs longer is noted as one that gave none."""
MAX_BYTES = 4 * 1024 * 1024
"""Of one page of metrics; what is above is not read."""
MAX_GAUGES = 256
"""That are kept, in the order of the page."""
_LINE = re.compile(r"^([a-zA-Z_:][\w:]*(?:\{[^}]*\})?)\s+([^\s]+)")
_PREFIXES = ("headworks_", "vllm:")


class NoGauges(Exception):
    """The metrics could not be read."""


class Gauges(Protocol):
    """Where the gauges are read."""

    async def read(self) -> Mapping[str, float]:
        """Return every gauge by its name, with its labels.

        Raises:
            NoGauges: nobody answers, or something else than metrics.
        """
        ...


class HttpGauges:
    """Reads a page in Prometheus' form."""

    def __init__(self, url: str) -> None:
        """Take an http:// or https:// address."""
        self._url = url

    async def read(self) -> Mapping[str, float]:
        """See `Gauges`. The read has a thread of its own for as long as it takes."""
        return parse_gauges(await asyncio.to_thread(self._page))

    def _page(self) -> str:
        try:
            with urlopen(Request(self._url), timeout=TIMEOUT_SECONDS) as reply:  # noqa: S310  # the command checks it
                data: bytes = reply.read(MAX_BYTES)
        except (OSError, HTTPException, ValueError) as error:
            raise NoGauges(str(error)) from error
        return data.decode(errors="replace")


def parse_gauges(page: str) -> dict[str, float]:
    """Return the gauges of Headworks and vLLM on a page.

    Raises:
        NoGauges: the page has none.
    """
    found: dict[str, float] = {}
    gauges: set[str] = set()
    for line in page.splitlines():
        if line.startswith("# TYPE ") and line.endswith(" gauge"):
            gauges.add(line.split()[2])
        elif (match := _LINE.match(line)) and match[1].startswith(_PREFIXES) and match[1].partition("{")[0] in gauges:
            try:
                found[match[1]] = float(match[2])
            except ValueError as error:
                raise NoGauges(f"{match[1]} is {match[2]!r}, which is no number") from error
        if len(found) >= MAX_GAUGES:
            break
    if not found:
        raise NoGauges("the page has no gauges of Headworks")
    return found


@dataclass(frozen=True, slots=True)
class Sign:
    """What a gauge means when it reaches a value."""

    gauge: str
    """Its name without labels."""
    at_least: float
    meaning: str


SIGNS: Sequence[Sign] = (
    Sign("headworks_turns_waiting", 1, "turns stood in line for a permit"),
    Sign("headworks_engine_waiting", 1, "turns waited in the engine's own queue"),
    Sign("vllm:num_requests_waiting", 1, "requests waited in vLLM"),
    Sign("headworks_loop_lag_seconds", 0.025, "the server was late with its own work, so that its CPU was used up"),
    Sign("headworks_engine_cache_used", 0.95, "the key/value cache was full"),
    Sign("vllm:kv_cache_usage_perc", 0.95, "vLLM's key/value cache was full"),
)
"""Signs of a limit that holds without refusing, likeliest first."""


def signs_in(gauges: Mapping[str, float]) -> list[str]:
    """Say which signs the gauges show."""
    told = []
    for sign in SIGNS:
        values = [value for name, value in gauges.items() if name.partition("{")[0] == sign.gauge]
        if values and max(values) >= sign.at_least:
            told.append(f"{sign.meaning} ({sign.gauge} reached {max(values):g})")
    return told


class Peaks:
    """Keeps the most that each gauge showed since the beginning."""

    def __init__(self, source: Gauges | None) -> None:
        self._source = source
        self._most: dict[str, float] = {}
        self.reads = 0
        self.failed_reads = 0

    def begin(self) -> None:
        """Forget what was."""
        self._most = {}

    def most(self) -> dict[str, float]:
        """Return the most since the beginning."""
        return dict(self._most)

    async def look(self) -> None:
        """Read once. A read that fails is counted; under load a server may have no time for it."""
        if self._source is None:
            return
        self.reads += 1
        try:
            found = await self._source.read()
        except NoGauges:
            self.failed_reads += 1
            return
        for name, value in found.items():
            self._most[name] = max(value, self._most.get(name, value))
